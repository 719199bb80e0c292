from keystone.cmd.manage import main

main()
