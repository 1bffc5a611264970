import { promoteDraftRequest } from '#runtime/catalog/types/skills-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import { draftFields, type SkillDraft } from '#runtime/catalog/types/skill-draft.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { installSkills } from './add-skills.ts'
import { administrator } from '#platform/routes/administrator.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

const maxListed = 1_000

/** `/api/operator/skill-drafts…`: what agents wrote, until an operator promotes it. */
export function addDraftRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/skill-drafts', { GET: listDrafts(deps) })
  addRoute('/api/operator/skill-drafts/:draft', {
    GET: showDraft(deps),
    DELETE: removeDraft(deps),
  })
  addRoute('/api/operator/skill-drafts/:draft/promote', { POST: promoteDraft(deps) })
}

const listDrafts: Handle = (deps) => async () =>
  jsonResponse({ drafts: await deps.skillDrafts.list(maxListed) })

const showDraft: Handle = (deps) => async (context) => jsonResponse(await find(deps, context))

/**
 * Exactly the text that was looked at goes the way of every skill that is installed. It is told of after that: where the
 * second half fails, the same again installs nothing more.
 */
const promoteDraft: Handle = (deps) => async (context) => {
  const asked = parseFields(promoteDraftRequest, await readJsonObject(context.req.raw))
  const { hash, ...options } = asked
  const draft = await find(deps, context)
  const { id, name, files } = draft
  if (draft.state !== 'open' || draft.hash !== hash) throw another(draft)
  const sent = { folder: name, bundle: { fields: draftFields(draft), files } }
  const upload = { sent, source: `draft ${id}` }
  const response = await installSkills(deps, context, { upload, ...options })
  if (options.dryRun) return response
  if (await deps.skillDrafts.promote(id, hash, administrator(deps, context))) return response
  throw another(draft)
}

const removeDraft: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const { id } = await find(deps, context)
  if (!(await deps.skillDrafts.remove(id, administrator(deps, context)))) throw noSuchDraft()
  return jsonResponse({ id, deleted: true })
}

async function find({ skillDrafts }: HttpDeps, context: HttpContext): Promise<SkillDraft> {
  const draft = await skillDrafts.find(context.req.param('draft') ?? '')
  if (!draft) throw noSuchDraft()
  return draft
}

const noSuchDraft = () => new IsolaError('request_not_found', 'There is no such draft.')

function another({ id, state }: SkillDraft): IsolaError {
  const message =
    state === 'promoted'
      ? `${id} was promoted already.`
      : `hash: ${id} has another text by now. Look again (isola skill draft ${id}) and promote what you see.`
  return new IsolaError('request_conflict', message, { param: 'hash' })
}
