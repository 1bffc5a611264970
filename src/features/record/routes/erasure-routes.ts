import * as z from 'zod'
import type { Erasure } from '../types/operations.ts'
import type { ErasureAdministration } from '../erasure/erasures.ts'
import { IsolaError } from '#contracts/errors.ts'
import { listLimit } from '#contracts/query-fields.ts'
import { principalName } from '#features/access/types/keys.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { operators, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, text } from '#platform/routes/shapes.ts'

interface ErasureDeps {
  readonly erasures: Pick<ErasureAdministration, 'begin' | 'find' | 'list'>
}

const confirm = z.string().describe('The same name once more: it cannot be taken back.')
const erasure = z
  .object({
    id: text.describe('The pseudonym that the record has for them.'),
    principal: text.describe('Whose; once it is done the pseudonym.'),
    state: z.enum(['running', 'done']),
    askedBy: text.describe('An operator, or `self`.'),
    askedAtMs: atMs,
    nextMs: atMs.optional().describe('When it goes on.'),
    pass: count.describe('How often all places were gone through, this time included.'),
    erased: z.record(text, count).describe('By place.'),
    problems: z.record(text, text).describe('By place: what could not be done yet.'),
  })
  .meta({ id: 'Erasure' })
const begun = { 202: { is: 'It is under way.', json: erasure } }

/**
 * `/api/operator/erasures…` erases a person everywhere, for good, and goes on by itself. `/api/erasure` erases the
 * caller, whose key gets its last answer with this.
 */
export default [
  route('POST /api/erasure', {
    roles: talkers,
    summary: 'Erases the caller from everywhere, for good.',
    body: z.strictObject({ confirm }),
    replies: begun,
    check: refuseProgram,
    async handle({ erasures }: ErasureDeps, { body, caller, by }) {
      requireSame(body.confirm, caller.id)
      return shownErasure(await erasures.begin(caller.id, by(), true))
    },
  }),
  route('GET /api/operator/erasures', {
    roles: operators,
    summary: 'Lists erasures, the newest first.',
    query: z.strictObject({ limit: listLimit.optional() }),
    replies: { 200: { is: 'The list.', json: z.object({ erasures: z.array(erasure) }) } },
    async handle({ erasures }: ErasureDeps, { query: { limit = defaultListLimit } }) {
      return { erasures: (await erasures.list(limit)).map(shownErasure) }
    },
  }),
  route('POST /api/operator/erasures', {
    roles: operators,
    summary: 'Erases a person from everywhere, for good. One that runs already is answered.',
    body: z.strictObject({ principal: principalName.describe('Who is erased.'), confirm }),
    replies: begun,
    async handle({ erasures }: ErasureDeps, { body: { principal, confirm: again }, by }) {
      requireSame(again, principal)
      const asker = by()
      return shownErasure(await erasures.begin(principal, asker, asker.principal === principal))
    },
  }),
  route('GET /api/operator/erasures/:erasure', {
    roles: operators,
    summary: 'How far an erasure is, or what came of it.',
    params: { erasure: 'Its id.' },
    replies: { 200: { is: 'The erasure.', json: erasure } },
    async handle({ erasures }: ErasureDeps, { params }) {
      return shownErasure(await erasures.find(params.erasure))
    },
  }),
] as const

/** Refuses tokens and restricted keys, before the body is read. */
function refuseProgram({ caller: { token, agents } }: RequestContext): void {
  if (token) {
    const message = 'An access token was given to a program for work: erase yourself with a key.'
    throw new IsolaError('request_forbidden', message)
  }
  // Programs get keys for a few agents: such a key may not end a person's memory, agents and sessions.
  if (agents) {
    const message =
      `This key may talk to ${agents.join(', ')} alone, and erases nobody: ask an operator (POST ` +
      '/api/operator/erasures).'
    throw new IsolaError('request_forbidden', message)
  }
}

/** The caller repeats the name, because an erasure cannot be undone. */
function requireSame(again: string, principal: string): void {
  if (again === principal) return
  const message = `confirm: must be the name of whoever is erased ("${principal}"): it cannot be taken back.`
  throw new IsolaError('request_invalid', message, { param: 'confirm' })
}

function shownErasure({ progress, ...about }: Erasure) {
  const { pass, erased, problems } = progress
  return { ...about, pass, erased, problems }
}
