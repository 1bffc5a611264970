/**
 * Stands in for the half of `yaml` that writes (`[alias]` in wrangler.toml), since YAML is only read in the Worker.
 * Should that change, whoever writes is told in so many words.
 */
const never = (): never => {
  throw new Error('The part of `yaml` that writes is not in the Worker.')
}

export const createStringifyContext = never
export const stringify = never
export const stringifyCollection = never
export const stringifyDocument = never
export const stringifyNumber = never
export const stringifyPair = never
export const stringifyString = never
