// Package programs is a module of its own: its tools are the programs that tests
// of backups run, with all that they depend on. Build is in test/objectstore.
package programs
