import * as z from 'zod'
import { flag, text } from '#platform/routes/shapes.ts'

export const item = z.looseObject({ type: text }).meta({ id: 'ResponseItem' })
export const items = z
  .object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: text.nullable(),
    last_id: text.nullable(),
    has_more: flag,
  })
  .meta({ id: 'ResponseItems' })
export const itemsQuery = z.object({
  limit: text.optional(),
  after: text.optional(),
  order: z.enum(['asc', 'desc']).optional(),
})
