/**
 * Stands in for zod's writer of JSON Schema (scripts/generate-zod.mjs): each class of zod brings its part of it, and
 * the Worker never uses it. The OpenAPI document is written before (`npm run openapi`), and tools come with a JSON
 * Schema. Should that change, this fails with a clear error.
 */
function unused(): never {
  throw new Error('The Worker has no code that writes JSON Schema: use JSON Schema itself.')
}

export { unused as createStandardJSONSchemaMethod, unused as createToJSONSchemaMethod }
export {
  unused as aggregateChecks,
  unused as anyProcessor,
  unused as arrayProcessor,
  unused as bigintProcessor,
  unused as booleanProcessor,
  unused as catchProcessor,
  unused as customProcessor,
  unused as dateProcessor,
  unused as defaultProcessor,
  unused as enumProcessor,
  unused as fileProcessor,
  unused as functionProcessor,
  unused as intersectionProcessor,
  unused as js,
  unused as lazyProcessor,
  unused as literalProcessor,
  unused as mapProcessor,
  unused as nanProcessor,
  unused as neverProcessor,
  unused as nonoptionalProcessor,
  unused as nullProcessor,
  unused as nullableProcessor,
  unused as numberProcessor,
  unused as objectProcessor,
  unused as optionalProcessor,
  unused as pipeProcessor,
  unused as prefaultProcessor,
  unused as promiseProcessor,
  unused as readonlyProcessor,
  unused as recordProcessor,
  unused as setProcessor,
  unused as stringProcessor,
  unused as successProcessor,
  unused as symbolProcessor,
  unused as templateLiteralProcessor,
  unused as toJSONSchema,
  unused as transformProcessor,
  unused as tupleProcessor,
  unused as undefinedProcessor,
  unused as unionProcessor,
  unused as unknownProcessor,
  unused as voidProcessor,
}
