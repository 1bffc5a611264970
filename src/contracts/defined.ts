/** T as an object without undefined values: a field that may be undefined becomes an optional field. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/**
 * Copies the fields whose value is not undefined. For objects with optional fields: under exactOptionalPropertyTypes a
 * field is absent, never undefined; absent fields stay out of JSON, rows and RPC.
 *
 * @param fields An object literal; `null`, `''`, `0` and `false` are values and stay.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const set: Record<string, unknown> = {}
  for (const key in fields) if (fields[key] !== undefined) set[key] = fields[key]
  return set as Defined<T>
}
