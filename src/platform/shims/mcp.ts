/**
 * Stands in for what the MCP packages load for Workers (`[alias]` in wrangler.toml). Theirs builds all schemas of both
 * protocols, twice, whenever an isolate starts, though few requests speak MCP; without it they are built when first
 * used. And it brings a validator each that is never asked: our client has our own
 * (src/features/mcp-servers/connection.ts), our server asks through none. Should that change, a request fails in so
 * many words.
 */
export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error('There is no validator of the library here: pass our own.')
  }
}

/** As theirs: CORS is a browser's. */
export const CORS_IS_POSSIBLE = false
