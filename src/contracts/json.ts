/** Plain JSON: everything that crosses a border (plugin, Durable Object, wire, row) is one of these. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** A JSON Schema (2020-12 or draft-07 subset) as tools and manifests carry it. */
export type JsonSchema = JsonObject
