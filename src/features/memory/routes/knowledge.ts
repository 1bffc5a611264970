import {
  documentQuery,
  knowledgeQuery,
  knowledgeWhere,
  passagesQuery,
  putDocumentRequest,
} from './knowledge-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentEventData } from '#contracts/event.ts'
import { citationOf, type FoundPassage, type KnowledgeStore } from '#contracts/knowledge.ts'
import { labelFrom } from '#contracts/label.ts'
import { placeOf } from '#contracts/long-term.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { placesOf, type Where } from './memory-places.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'

const defaultFound = 10

/** `/api/knowledge…`: documents of the caller, and of the deployment. Nobody reads another principal's. */
export function addKnowledgeRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const { knowledge, sources } = deps
  const at = (context: HttpContext, { scope }: Where): KnowledgeStore =>
    scope === 'deployment'
      ? knowledge.ofDeployment()
      : knowledge.ofPrincipal(context.get('principal').id)
  const changing = (context: HttpContext, where: Where): KnowledgeStore => {
    if (where.scope === 'deployment' && context.get('principal').role !== 'operator') {
      const message = 'scope: documents of the deployment are an operator’s to change.'
      throw new IsolaError('request_forbidden', message, { param: 'scope' })
    }
    return at(context, where)
  }
  const removed = async (context: HttpContext, where: Where, id?: string) => {
    parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
    const store = changing(context, where)
    const wanted = id === undefined ? await placesOf(where, store) : { ids: [id] }
    const { forgotten = 0 } = await store({ verb: 'forget', ...wanted })
    if (id !== undefined && forgotten === 0)
      throw new IsolaError('request_not_found', 'There is no such document.')
    await tell(context, { change: 'removed', count: forgotten, ...scopeIn(where) })
    return jsonResponse({ forgotten })
  }
  const tell = async (
    context: HttpContext,
    change: Omit<DeploymentEventData<'knowledge_changed'>, 'owner' | 'request'>,
  ) => {
    const { principal, trace, requestId: request } = administrator(deps, context)
    const place = { principal, trace, atMs: sources.clock.nowMs() }
    const data = { owner: principal, ...change, request }
    await deps.deploymentLog.append(deploymentEvent('knowledge_changed', place, data))
  }
  const documentOf = (context: HttpContext): string => context.req.param('document') ?? ''

  addRoute('/api/knowledge', {
    GET: async (context) => {
      const {
        after,
        limit = defaultListLimit,
        ...where
      } = parseFields(knowledgeQuery, context.req.query())
      const store = at(context, where)
      const page = after === undefined ? {} : { after }
      const asked = { verb: 'list', limit, ...(await placesOf(where, store)), ...page } as const
      const { documents = [], next } = await store(asked)
      return jsonResponse({ documents, ...(next !== undefined && { next }) })
    },
    POST: async (context) => {
      refusePdf(context)
      const asked = parseFields(putDocumentRequest, await readJsonObject(context.req.raw))
      const { scope, agent, name, title, integrity, dryRun = false, ...content } = asked
      if ((scope === 'agent') !== (agent !== undefined)) {
        const message = 'agent: whose the document is, with scope agent and only with that.'
        throw new IsolaError('request_invalid', message, { param: 'agent' })
      }
      const store = changing(context, { scope })
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
        by: context.get('principal').id,
        dryRun,
      })
      if (!dryRun && state !== 'same') await tell(context, { change: state!, count: 1, scope })
      return jsonResponse({ state, document: documents[0] })
    },
    DELETE: async (context) => removed(context, parseFields(knowledgeWhere, context.req.query())),
  })
  addRoute('/api/knowledge/search', {
    GET: async (context) => {
      const {
        query,
        limit = defaultFound,
        ...where
      } = parseFields(passagesQuery, context.req.query())
      const store = at(context, where)
      const places = await placesOf(where, store)
      const { passages = [] } = await store({ verb: 'search', query, limit, ...places })
      return jsonResponse({ passages: passages.map(toCited) })
    },
  })
  addRoute('/api/knowledge/:document', {
    GET: async (context) => {
      const where = parseFields(documentQuery, context.req.query())
      const asked = { verb: 'get', id: documentOf(context) } as const
      const { documents = [], passages = [] } = await at(context, where)(asked)
      return jsonResponse({ document: documents[0], passages: passages.map(toCited) })
    },
    DELETE: async (context) =>
      removed(context, parseFields(documentQuery, context.req.query()), documentOf(context)),
  })
}

/**
 * The label of a document that names none: a person who adds a file with a key of their own is trusted with it;
 * a program with a token may pass on what it read, and a page belongs to the owner of its address.
 */
const writerOf = (context: HttpContext, name: string): 'data' | 'stranger' =>
  context.get('principal').token !== undefined || /^\s*[a-z][a-z\d+.-]*:\/\//i.test(name)
    ? 'stranger'
    : 'data'

const toCited = (one: FoundPassage) => ({ ...one, cite: citationOf(one) })

const scopeIn = ({ scope }: Where) => (scope ? { scope } : {})

/** Its reader is larger than the Worker. */
function refusePdf({ req }: HttpContext): void {
  if (!/^application\/pdf\b/i.test(req.header('content-type') ?? '')) return
  const message =
    'A PDF is read by the command: isola knowledge add <file>.pdf. Or send its texts by page: {"type":"pages","pages":[…]}.'
  throw new IsolaError('request_unsupported_media_type', message, { param: 'content-type' })
}
