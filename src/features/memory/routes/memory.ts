import {
  addNotesRequest,
  editNoteRequest,
  forgetNoteQuery,
  forgetQuery,
  memoryQuery,
  noteQuery,
} from './memory-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentEventData } from '#contracts/event.ts'
import { joinLabels, labelFrom } from '#contracts/label.ts'
import { placeOf, type LongTermMemory, type NewNote } from '#contracts/long-term.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { forgetQuotes } from './forget-quotes.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { placesOf, type Where } from './memory-places.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'

/** What somebody writes down: the principal's own, whoever said it first. */
const own = labelFrom('memory', { integrity: 'data' })

/** `/api/memory…`: what is remembered for the caller, and for the deployment. Nobody reads another principal's. */
export function addMemoryRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const noBody = async (context: HttpContext) =>
    void parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const at = (context: HttpContext, { scope }: Where): LongTermMemory =>
    scope === 'deployment'
      ? deps.memory.ofDeployment()
      : deps.memory.ofPrincipal(context.get('principal').id)
  const changing = (context: HttpContext, where: Where): LongTermMemory => {
    if (where.scope === 'deployment' && context.get('principal').role !== 'operator') {
      const message = 'scope: what the deployment remembers is an operator’s to change.'
      throw new IsolaError('request_forbidden', message, { param: 'scope' })
    }
    return at(context, where)
  }
  const noteOf = (context: HttpContext): string => context.req.param('note') ?? ''

  addRoute('/api/memory', {
    GET: async (context) => {
      const {
        query,
        after,
        limit = defaultListLimit,
        ...where
      } = parseFields(memoryQuery, context.req.query())
      const memory = at(context, where)
      const places = await placesOf(where, memory)
      const page = after === undefined ? {} : { after }
      const { notes = [], next } = await memory(
        query === undefined
          ? { verb: 'list', limit, ...places, ...page }
          : { verb: 'search', query, limit, ...places },
      )
      return jsonResponse({ notes, ...(next !== undefined && { next }) })
    },
    POST: async (context) => {
      const body = parseFields(addNotesRequest, await readJsonObject(context.req.raw))
      const { scope, agent, notes, dryRun = false } = body
      if ((scope === 'agent') !== (agent !== undefined)) {
        const message = 'agent: whose the notes are, with scope agent and only with that.'
        throw new IsolaError('request_invalid', message, { param: 'agent' })
      }
      const memory = changing(context, { scope })
      const principal = context.get('principal').id
      const { added, evicted } = await memory({
        verb: 'add',
        place: placeOf(scope, agent ?? ''),
        notes: notes.map((note) => toNote(note, principal)),
        dryRun,
      })
      if (!dryRun) await tellMemory(deps, context, { change: 'added', scope, count: notes.length })
      return jsonResponse({ added, ...(evicted !== undefined && { evicted }) })
    },
    DELETE: async (context) => {
      await noBody(context)
      const { session, ...where } = parseFields(forgetQuery, context.req.query())
      const memory = changing(context, where)
      const places = await placesOf(where, memory)
      const { forgotten = 0 } = await memory({
        verb: 'forget',
        ...places,
        ...(session !== undefined && { session }),
      })
      await tellMemory(deps, context, { change: 'forgotten', count: forgotten, ...scopeIn(where) })
      return jsonResponse({ forgotten })
    },
  })
  addRoute('/api/memory/:note', {
    GET: async (context) => {
      const where = parseFields(noteQuery, context.req.query())
      const { notes } = await at(context, where)({ verb: 'get', id: noteOf(context) })
      return jsonResponse(notes![0]!)
    },
    POST: async (context) => {
      const where = parseFields(noteQuery, context.req.query())
      const change = parseFields(editNoteRequest, await readJsonObject(context.req.raw))
      const memory = changing(context, where)
      const { notes } = await memory({
        verb: 'edit',
        id: noteOf(context),
        change: { ...change, label: joinLabels([own, ...(change.label ? [change.label] : [])]) },
      })
      await tellMemory(deps, context, { change: 'edited', count: 1, scope: notes![0]!.scope })
      return jsonResponse(notes![0]!)
    },
    DELETE: async (context) => {
      await noBody(context)
      const { everywhere, after, ...where } = parseFields(forgetNoteQuery, context.req.query())
      const memory = changing(context, where)
      const asked = { id: noteOf(context), after, ...where }
      const { next, ...quoted } = everywhere ? await forgetQuotes(deps, context, asked) : {}
      if (next !== undefined) return jsonResponse({ forgotten: 0, ...quoted, next })
      const { forgotten = 0 } = await memory({ verb: 'forget', ids: [asked.id] })
      if (forgotten === 0) throw new IsolaError('request_not_found', 'There is no such note.')
      await tellMemory(deps, context, { change: 'forgotten', count: forgotten, ...scopeIn(where) })
      return jsonResponse({ forgotten, ...quoted })
    },
  })
}

/** Puts a change on the record: how much, never what. */
export const tellMemory = async (
  deps: HttpDeps,
  context: HttpContext,
  { owner, ...change }: Omit<DeploymentEventData<'memory_changed'>, 'owner'> & { owner?: string },
): Promise<void> => {
  const { principal, trace, requestId: request } = administrator(deps, context)
  const place = { principal, trace, atMs: deps.sources.clock.nowMs() }
  const data = { owner: owner ?? principal, ...change, request }
  await deps.deploymentLog.append(deploymentEvent('memory_changed', place, data))
}

const scopeIn = ({ scope }: Where) => (scope ? { scope } : {})

const toNote = ({ label, ...note }: Omit<NewNote, 'origin'>, principal: string): NewNote => ({
  ...note,
  origin: { principal },
  // Never better than what somebody writes down.
  label: joinLabels([own, ...(label ? [label] : [])]),
})
