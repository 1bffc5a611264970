import * as z from 'zod'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { integrity, type Label } from '#contracts/label.ts'

const maxFields = 16
const maxTextChars = 4_000
const name = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/)
const about = { description: z.string().max(500).exactOptional() }

/** The allowed questions about a material: the part of JSON Schema that keeps answers narrow. */
const fieldSchema = z.union([
  z.strictObject({ type: z.enum(['boolean', 'integer', 'number']), ...about }),
  z.strictObject({
    type: z.literal('string').exactOptional(),
    enum: z.array(z.string().min(1).max(100)).min(1).max(50),
    ...about,
  }),
  z.strictObject({
    type: z.literal('string'),
    format: z.enum(['date', 'date-time', 'id', 'uri']).exactOptional(),
    ...about,
  }),
])
export const fieldsSchema = z
  .record(name, fieldSchema)
  .refine((fields) => Object.keys(fields).length > 0, 'must name at least one field')
  .refine((fields) => Object.keys(fields).length <= maxFields, `must name at most ${maxFields}`)

/** The questions put to a material, by field name. */
export type NarrowFields = z.infer<typeof fieldsSchema>
type Field = NarrowFields[string]

/** A number with more digits could be a telephone or account number of a person, not an amount. */
const maxDigits = 9
const date = /^\d{4}-\d{2}-\d{2}$/
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/
/** Too narrow for a sentence, an address, a host or an account number. */
const id = /^(?=.*\d)(?!.*\d{10})[A-Za-z0-9_-]{1,12}$/

const digitsOf = (value: number): string => String(value).replace(/\D/g, '').replace(/^0+/, '')

const isNumber = (value: Json, isWhole: boolean): boolean =>
  typeof value === 'number' &&
  Math.abs(value) < 10 ** maxDigits &&
  (!isWhole || Number.isInteger(value)) &&
  digitsOf(value).length <= maxDigits

const isDate = (text: string, form: RegExp): boolean =>
  form.test(text) && !Number.isNaN(Date.parse(text))

const formats = {
  date: (text: string) => isDate(text, date),
  'date-time': (text: string) => isDate(text, dateTime),
  id: (text: string) => id.test(text),
  uri: (text: string, material: string) => linksIn(material).has(text),
  any: (text: string) => text.length <= maxTextChars,
} as const

const link = /(?:https?:\/\/|www\.)[^\s"'<>()[\]{}\\|`^]{1,2000}/gi

/** Links as they stand in a text, without the point or comma behind them. */
const linksIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(link)].map(([found]) => found.replace(/(?<![.,;:!?])[.,;:!?]+$/, '')))

/** Whether an answer has the requested type. A link counts only if it stands in the material. */
export function fits(value: Json, field: Field, material = ''): boolean {
  if ('enum' in field) return typeof value === 'string' && field.enum.includes(value)
  if (field.type === 'boolean') return typeof value === 'boolean'
  if (field.type !== 'string') return isNumber(value, field.type === 'integer')
  return typeof value === 'string' && formats[field.format ?? 'any'](value, material)
}

/** Whether an answer of this type carries a value only, and no words of the material's author. */
export const isNarrow = (field: Field): boolean =>
  'enum' in field || field.type !== 'string' || !['uri', undefined].includes(field.format)

/** Whether an answer is a link out of the material. */
export const isLink = (field: Field): boolean => 'format' in field && field.format === 'uri'

/** The schema of the reader's answer: each field, or null where the material does not say. */
export function answerSchema(fields: NarrowFields): JsonSchema {
  const properties = Object.entries(fields).map(([key, field]) => {
    const { format, ...rest } = { format: undefined, ...field }
    const type = 'enum' in field ? 'string' : field.type
    const values = 'enum' in field ? { enum: [...field.enum, null] } : {}
    const known = format === 'date' || format === 'date-time' ? { format } : {}
    return [key, { ...rest, ...known, ...values, type: [type, 'null'] }] as const
  })
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: Object.keys(fields),
    additionalProperties: false,
  } as JsonSchema
}

/** The answers that are of their type; null for every other. */
export const takeAnswers = (answer: JsonObject, fields: NarrowFields, material = ''): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([key, field]) => {
      const value = Object.hasOwn(answer, key) ? answer[key]! : null
      return [key, fits(value, field, material) ? value : null]
    }),
  )

/**
 * The label of narrow answers. The author of the material chose the values but wrote no words, so integrity rises to
 * `tool`; confidentiality stays.
 */
export function labelOfAnswers(material: Label): Label {
  const { options } = integrity
  const raised = <Labelled extends Pick<Label, 'integrity'>>(one: Labelled): Labelled =>
    options.indexOf(one.integrity) > options.indexOf('tool') ? { ...one, integrity: 'tool' } : one
  return raised({ ...material, sources: material.sources.map(raised) })
}

/**
 * The label of a link in a material, for following it. The material's author chose its target, and a misled reader can
 * only choose among the links that the material has. So the link reveals no more than `said`.
 */
export function labelOfLink(material: Label): Label {
  const widened = <Labelled extends Pick<Label, 'confidentiality'>>(one: Labelled): Labelled =>
    one.confidentiality === 'private' ? { ...one, confidentiality: 'said' } : one
  return widened({ ...material, sources: material.sources.map(widened) })
}
