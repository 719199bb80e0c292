package plan

// Executions are the methods that execute the actions.
var Executions = executions
