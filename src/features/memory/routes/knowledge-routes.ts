import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentEventData, type DeploymentLog } from '#contracts/event.ts'
import { citationOf, type ReadDocument } from '../types.ts'
import type {
  FoundPassage,
  KnowledgeGateway,
  KnowledgeStore,
} from '#features/record/types/knowledge.ts'
import { labelFrom } from '#contracts/label.ts'
import { placeOf } from '#features/plugins/types/memory.ts'
import type { Principal } from '#contracts/operations.ts'
import { document, passage } from '#runtime/kernel/types/provided-shapes.ts'
import type { Sources } from '#contracts/sources.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, text } from '#platform/routes/shapes.ts'
import {
  documentQuery,
  knowledgeQuery,
  knowledgeWhere,
  passagesQuery,
  putDocumentRequest,
} from './knowledge-requests.ts'
import { placesOf, scopeIn, type Where } from './notes.ts'

interface KnowledgeDeps {
  readonly knowledge: KnowledgeGateway & { readonly read: ReadDocument }
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

const defaultFound = 10

const cited = passage
  .extend({ cite: text.describe('Where it is, in words.') })
  .meta({ id: 'KnowledgePassage' })
const params = { document: 'Its id.' }
const forgotten = {
  200: { is: 'How many documents there were.', json: z.object({ forgotten: count }) },
}

/** `/api/knowledge…`: documents of the caller, and of the deployment. No caller reads those of another principal. */
export default [
  route('GET /api/knowledge', {
    roles: talkers,
    summary: 'Lists the documents of the caller, or of the deployment.',
    query: knowledgeQuery,
    replies: {
      200: {
        is: 'A page of documents.',
        json: z.object({
          documents: z.array(document),
          next: text.optional().describe('There are more: send it as `after`.'),
        }),
      },
    },
    async handle({ knowledge }: KnowledgeDeps, { query, caller }) {
      const { after, limit = defaultListLimit, ...where } = query
      const store = storeAt(knowledge, caller, where)
      const page = after === undefined ? {} : { after }
      const asked = { verb: 'list', limit, ...(await placesOf(where, store)), ...page } as const
      const { documents = [], next } = await store(asked)
      return { documents, ...(next !== undefined && { next }) }
    },
  }),
  route('POST /api/knowledge', {
    roles: talkers,
    summary:
      'Puts a document: cut into passages and indexed. The same again changes nothing; another text under ' +
      'its name takes its place.',
    body: putDocumentRequest,
    replies: {
      200: {
        is: 'What became of it.',
        json: z.object({ state: z.enum(['added', 'changed', 'same']), document }),
      },
    },
    check: refusePdf,
    handle: (deps: KnowledgeDeps, request) => putDocument(deps, request, request.body),
  }),
  route('DELETE /api/knowledge', {
    roles: talkers,
    summary: 'Removes all documents that fit, for good: without a field all that are the caller’s.',
    query: knowledgeWhere,
    body: noBody,
    replies: forgotten,
    async handle(deps: KnowledgeDeps, request) {
      const store = changeableStore(deps.knowledge, request.caller, request.query)
      const wanted = await placesOf(request.query, store)
      const { forgotten: gone = 0 } = await store({ verb: 'forget', ...wanted })
      await tell(deps, request, { change: 'removed', count: gone, ...scopeIn(request.query) })
      return { forgotten: gone }
    },
  }),
  route('GET /api/knowledge/search', {
    roles: talkers,
    summary: 'Finds passages of documents, the best first.',
    query: passagesQuery,
    replies: { 200: { is: 'Passages.', json: z.object({ passages: z.array(cited) }) } },
    async handle({ knowledge }: KnowledgeDeps, { query: asked, caller }) {
      const { query, limit = defaultFound, ...where } = asked
      const store = storeAt(knowledge, caller, where)
      const places = await placesOf(where, store)
      const { passages = [] } = await store({ verb: 'search', query, limit, ...places })
      return { passages: passages.map(toCited) }
    },
  }),
  route('GET /api/knowledge/:document', {
    roles: talkers,
    summary: 'A document with its passages.',
    params,
    query: documentQuery,
    replies: {
      200: { is: 'Both.', json: z.object({ document, passages: z.array(cited) }) },
    },
    async handle({ knowledge }: KnowledgeDeps, { params: of, query, caller }) {
      const asked = { verb: 'get', id: of.document } as const
      const { documents = [], passages = [] } = await storeAt(knowledge, caller, query)(asked)
      return { document: documents[0], passages: passages.map(toCited) }
    },
  }),
  route('DELETE /api/knowledge/:document', {
    roles: talkers,
    summary: 'Removes a document, with all that was made of it.',
    params,
    query: documentQuery,
    body: noBody,
    replies: forgotten,
    async handle(deps: KnowledgeDeps, request) {
      const store = changeableStore(deps.knowledge, request.caller, request.query)
      const asked = { verb: 'forget', ids: [request.params.document] } as const
      const { forgotten: gone = 0 } = await store(asked)
      if (gone === 0) throw new IsolaError('request_not_found', 'There is no such document.')
      await tell(deps, request, { change: 'removed', count: gone, ...scopeIn(request.query) })
      return { forgotten: gone }
    },
  }),
] as const

const storeAt = (
  knowledge: KnowledgeGateway,
  { id }: Pick<Principal, 'id'>,
  { scope }: Where,
): KnowledgeStore => (scope === 'deployment' ? knowledge.ofDeployment() : knowledge.ofPrincipal(id))

/** An operator alone changes documents of the deployment. */
function changeableStore(
  knowledge: KnowledgeGateway,
  caller: Pick<Principal, 'id' | 'role'>,
  where: Where,
): KnowledgeStore {
  if (where.scope === 'deployment' && caller.role !== 'operator') {
    const message = 'scope: documents of the deployment are an operator’s to change.'
    throw new IsolaError('request_forbidden', message, { param: 'scope' })
  }
  return storeAt(knowledge, caller, where)
}

async function putDocument(
  deps: KnowledgeDeps,
  context: RequestContext,
  asked: z.output<typeof putDocumentRequest>,
) {
  const { knowledge, sources } = deps
  const { scope, agent, name, title, integrity, dryRun = false, ...content } = asked
  if ((scope === 'agent') !== (agent !== undefined)) {
    const message = 'agent: whose the document is, with scope agent and only with that.'
    throw new IsolaError('request_invalid', message, { param: 'agent' })
  }
  const store = changeableStore(knowledge, context.caller, { scope })
  const read = await knowledge.read(content)
  const called = title ?? read.title
  const { state, documents = [] } = await store({
    verb: 'put',
    place: placeOf(scope, agent ?? ''),
    document: {
      name,
      ...(called !== undefined && { title: called }),
      type: content.type,
      hash: sources.sha256(JSON.stringify([called, read.passages])),
      chars: (content.pages ?? [content.text ?? '']).join('\n').length,
      label: labelFrom('knowledge', { integrity: integrity ?? writerOf(context, name) }),
    },
    passages: read.passages,
    by: context.caller.id,
    dryRun,
  })
  if (!dryRun && state !== 'same') await tell(deps, context, { change: state!, count: 1, scope })
  return { state, document: documents[0] }
}

/** Puts a change on the record: how much, never what. */
async function tell(
  { deploymentLog, sources }: Pick<KnowledgeDeps, 'deploymentLog' | 'sources'>,
  { by }: Pick<RequestContext, 'by'>,
  change: Omit<DeploymentEventData<'knowledge_changed'>, 'owner' | 'request'>,
): Promise<void> {
  const { principal, trace, requestId: request } = by()
  const place = { principal, trace, atMs: sources.clock.nowMs() }
  const data = { owner: principal, ...change, request }
  await deploymentLog.append(deploymentEvent('knowledge_changed', place, data))
}

/**
 * The label of a document that names none: a person who adds a file with a key of their own is trusted with it;
 * a program with a token may pass on what it read, and a page belongs to the owner of its address.
 */
const writerOf = ({ caller }: RequestContext, name: string): 'data' | 'stranger' =>
  caller.token !== undefined || /^\s*[a-z][a-z\d+.-]*:\/\//i.test(name) ? 'stranger' : 'data'

const toCited = (one: FoundPassage) => ({ ...one, cite: citationOf(one) })

/** A reader of PDF is larger than the Worker. */
function refusePdf({ raw }: RequestContext): void {
  if (!/^application\/pdf\b/i.test(raw.headers.get('content-type') ?? '')) return
  const message =
    'A PDF is read by the command: isola knowledge add <file>.pdf. Or send its texts by page: ' +
    '{"type":"pages","pages":[…]}.'
  throw new IsolaError('request_unsupported_media_type', message, { param: 'content-type' })
}
