import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { joinLabels, labelFrom } from '#contracts/label.ts'
import { memoryScopes, type NewNote } from '#contracts/long-term.ts'
import { placeOf } from '#features/plugins/types/memory.ts'
import { note } from '#runtime/kernel/types/provided-shapes.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import { operators, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, text } from '#platform/routes/shapes.ts'
import {
  forgetQuotes,
  type ForgetQuotesDeps,
  changeableAt,
  memoryAt,
  tellMemory,
  type MemoryDeps,
  placesOf,
  scopeIn,
} from './routes/notes.ts'
import {
  addNotesRequest,
  editNoteRequest,
  forgetNoteQuery,
  forgetQuery,
  memoryQuery,
  noteQuery,
} from './routes/requests.ts'

type ForgetNoteDeps = MemoryDeps & ForgetQuotesDeps

/** A note that a caller writes: the principal's own, whatever its source. */
const own = labelFrom('memory', { integrity: 'data' })

const scope = z.enum(memoryScopes)
const params = { note: 'Its id.' }
const one = { 200: { is: 'The note.', json: note } }
const forgotten = {
  200: { is: 'How many there were.', json: z.object({ forgotten: count }) },
}

/**
 * `/api/memory…`: notes of the caller and of the deployment. No caller reads those of another principal;
 * `/api/operator/memory…`: how much there is.
 */
export default [
  route('GET /api/memory', {
    roles: talkers,
    summary: 'Lists or searches what is remembered for the caller, or for the deployment.',
    query: memoryQuery,
    replies: {
      200: {
        is: 'A page of notes.',
        json: z.object({
          notes: z.array(note),
          next: text.optional().describe('There are more: send it as `after`.'),
        }),
      },
    },
    async handle({ memory }: MemoryDeps, { query: asked, caller }) {
      const { query, after, limit = defaultListLimit, ...where } = asked
      const keeper = memoryAt(memory, caller, where)
      const places = await placesOf(where, keeper)
      const page = after === undefined ? {} : { after }
      const { notes = [], next } = await keeper(
        query === undefined
          ? { verb: 'list', limit, ...places, ...page }
          : { verb: 'search', query, limit, ...places },
      )
      return { notes, ...(next !== undefined && { next }) }
    },
  }),
  route('POST /api/memory', {
    roles: talkers,
    summary: 'Adds or imports notes. Those of the deployment are an operator’s to write.',
    body: addNotesRequest,
    replies: {
      200: {
        is: 'What became of each, in the order of the request.',
        json: z.object({
          added: z.array(
            z.object({
              id: text,
              state: z.enum(['added', 'merged', 'replaced']),
              differsFrom: z.array(text).optional(),
            }),
          ),
          evicted: count.optional().describe('How many had to go, since there were too many.'),
        }),
      },
    },
    errors: [404],
    async handle(deps: MemoryDeps, request) {
      const { body, caller } = request
      const { scope: wanted, agent, notes, dryRun = false } = body
      if ((wanted === 'agent') !== (agent !== undefined)) {
        const message = 'agent: whose the notes are, with scope agent and only with that.'
        throw new IsolaError('request_invalid', message, { param: 'agent' })
      }
      const keeper = changeableAt(deps.memory, caller, { scope: wanted })
      const { added, evicted } = await keeper({
        verb: 'add',
        place: placeOf(wanted, agent ?? ''),
        notes: notes.map((one) => toNote(one, caller.id)),
        dryRun,
      })
      if (!dryRun)
        await tellMemory(deps, request, { change: 'added', scope: wanted, count: notes.length })
      return { added, ...(evicted !== undefined && { evicted }) }
    },
  }),
  route('DELETE /api/memory', {
    roles: talkers,
    summary: 'Forgets all that fits, for good: without a field all that is the caller’s own.',
    query: forgetQuery,
    body: noBody,
    replies: forgotten,
    async handle(deps: MemoryDeps, request) {
      const { session, ...where } = request.query
      const keeper = changeableAt(deps.memory, request.caller, where)
      const places = await placesOf(where, keeper)
      const { forgotten: gone = 0 } = await keeper({
        verb: 'forget',
        ...places,
        ...(session !== undefined && { session }),
      })
      await tellMemory(deps, request, { change: 'forgotten', count: gone, ...scopeIn(where) })
      return { forgotten: gone }
    },
  }),
  route('GET /api/memory/:note', {
    roles: talkers,
    summary: 'A note.',
    params,
    query: noteQuery,
    replies: one,
    async handle({ memory }: MemoryDeps, { params, query, caller }) {
      const { notes } = await memoryAt(memory, caller, query)({ verb: 'get', id: params.note })
      return notes![0]!
    },
  }),
  route('POST /api/memory/:note', {
    roles: talkers,
    summary: 'Changes a note. Its label stays, or becomes worse.',
    params,
    query: noteQuery,
    body: editNoteRequest,
    replies: one,
    async handle(deps: MemoryDeps, request) {
      const { params: of, query, body: change, caller } = request
      const keeper = changeableAt(deps.memory, caller, query)
      const { notes } = await keeper({
        verb: 'edit',
        id: of.note,
        change: { ...change, label: joinLabels([own, ...(change.label ? [change.label] : [])]) },
      })
      await tellMemory(deps, request, { change: 'edited', count: 1, scope: notes![0]!.scope })
      return notes![0]!
    },
  }),
  route('DELETE /api/memory/:note', {
    roles: talkers,
    summary: 'Forgets a note.',
    params,
    query: forgetNoteQuery,
    body: noBody,
    replies: {
      200: {
        is: 'How many there were.',
        json: z.object({
          forgotten: count,
          sessions: count.optional().describe('With `everywhere`: from how many it was taken.'),
          next: text.optional().describe('There are more conversations: nothing is forgotten yet.'),
        }),
      },
    },
    async handle(deps: ForgetNoteDeps, request) {
      const { everywhere, after, ...where } = request.query
      const keeper = changeableAt(deps.memory, request.caller, where)
      const asked = { id: request.params.note, after, ...where }
      const { next, ...quoted } = everywhere
        ? await forgetQuotes(deps, request.caller.id, asked)
        : {}
      if (next !== undefined) return { forgotten: 0, ...quoted, next }
      const { forgotten: gone = 0 } = await keeper({ verb: 'forget', ids: [asked.id] })
      if (gone === 0) throw new IsolaError('request_not_found', 'There is no such note.')
      await tellMemory(deps, request, { change: 'forgotten', count: gone, ...scopeIn(where) })
      return { forgotten: gone, ...quoted }
    },
  }),
  route('GET /api/operator/memory/:principal', {
    roles: operators,
    summary: 'How much is remembered for somebody; never what.',
    params: { principal: 'Its id.' },
    replies: {
      200: {
        is: 'By scope and agent.',
        json: z.object({
          principal: text,
          places: z.array(z.object({ scope, agent: text.optional(), notes: count, bytes: count })),
        }),
      },
    },
    async handle({ memory }: MemoryDeps, { params: { principal } }) {
      const { stats = [] } = await memory.ofPrincipal(principal)({ verb: 'stats' })
      return { principal, places: stats }
    },
  }),
  route('DELETE /api/operator/memory/:principal', {
    roles: operators,
    summary: 'Forgets all that is remembered for somebody, for good.',
    params: { principal: 'Its id.' },
    body: noBody,
    replies: forgotten,
    async handle(deps: MemoryDeps, request) {
      const { principal: owner } = request.params
      const { forgotten: gone = 0 } = await deps.memory.ofPrincipal(owner)({ verb: 'forget' })
      await tellMemory(deps, request, { change: 'forgotten', count: gone, owner })
      return { forgotten: gone }
    },
  }),
] as const

const toNote = ({ label, ...about }: Omit<NewNote, 'origin'>, principal: string): NewNote => ({
  ...about,
  origin: { principal },
  // Never better than the label of a note that a caller writes.
  label: joinLabels([own, ...(label ? [label] : [])]),
})
