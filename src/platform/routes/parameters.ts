import type { ModelParameters } from '#contracts/model.ts'

type Given = {
  readonly [Name in keyof ModelParameters]?: ModelParameters[Name] | null | undefined
}

/** Parameters as a body has them under our names; what is `null` there is not set. */
export const toParameters = (given: Given): ModelParameters =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) // the same names
