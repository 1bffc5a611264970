import type { ModelParameters } from '#contracts/model.ts'

type Given = {
  readonly [Name in keyof ModelParameters]?: ModelParameters[Name] | null | undefined
}

/** The parameters of a request body under our names; a field that is `null` is left out. */
export const toParameters = (given: Given): ModelParameters =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) // the same names
