import { noFields } from '#contracts/api/requests/lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { SkillDraft } from '#contracts/skill-draft.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { administrator } from './administrator.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

const maxListed = 1_000

/** `GET /api/operator/skill-drafts`: what agents wrote. */
export const listDrafts: Handle = (deps) => async () =>
  jsonResponse({ drafts: await deps.skillDrafts.list(maxListed) })

/** `GET /api/operator/skill-drafts/:draft`: one with its text and where it came from. */
export const showDraft: Handle = (deps) => async (context) =>
  jsonResponse(await find(deps, context))

/** `DELETE /api/operator/skill-drafts/:draft`. */
export const removeDraft: Handle = (deps) => async (context) => {
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
