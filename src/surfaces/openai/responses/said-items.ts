import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import type { ItemsPage, ItemsQuery, SaidItem } from '#runtime/session/types/session-view.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { invalid } from '../history.ts'
import { parseItemOf, toCallId, toItemId } from '../wire-ids.ts'
import { inputParts, textPart } from './resource.ts'

const listQuery = z.object({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be 1 to 100')
    .optional(),
  after: z.string().optional(),
  order: z.enum(['asc', 'desc']).optional(),
})

/** The query of a list of items: newest first by default. */
export function toItemsQuery(query: Readonly<Record<string, string>>, session: string): ItemsQuery {
  const { limit = '20', after, order = 'desc' } = parseFields(listQuery, query)
  const page = { limit: Number(limit), order }
  if (after === undefined) return page
  const place = parseItemOf(session, after)
  if (!place) throw invalid('after', 'is no item of this list')
  return { ...page, after: place }
}

/** A page of items as OpenAI's lists are; the ids name the session. */
export function pageOfItems({ items, hasMore }: ItemsPage, session: string): Response {
  const data = items.map((item) => toItem(item, session))
  return jsonResponse({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  })
}

/** An item as its response has it, under the same id. */
export function toItem(item: SaidItem, session: string) {
  const id = toItemId(item, session)
  const status = 'completed'
  switch (item.type) {
    case 'message': {
      const { type, role, text, name } = item
      const content = role === 'assistant' ? [textPart(text)] : inputParts(item)
      return { type, id, status, role, ...defined({ name }), content }
    }
    case 'call': {
      const { name, input } = item
      const call_id = callIdOf(item, session)
      return { type: 'function_call', id, call_id, name, arguments: JSON.stringify(input), status }
    }
    case 'output': {
      const output = typeof item.output === 'string' ? item.output : JSON.stringify(item.output)
      const call_id = callIdOf(item, session)
      return { type: 'function_call_output', id, call_id, output, status }
    }
  }
}

const callIdOf = (
  { call, callsOf: run }: { readonly call: string; readonly callsOf?: string },
  session: string,
): string => (run === undefined ? call : toCallId({ session, run }, call))
