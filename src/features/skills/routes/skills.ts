import { noFields } from '#contracts/routes/request-lists.ts'
import { enableSkillRequest, updateSkillRequest } from '#runtime/catalog/types/skills-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { SkillChange } from '#runtime/catalog/types/skill-catalog.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { presenceIn } from '#runtime/session/requests/presence.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { addSkills } from './add-skills.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `/api/operator/skills…`: what skills there are, and every change of those that were installed. */
export function addSkillRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/skills', { GET: listSkills(deps), POST: addSkills(deps) })
  addRoute('/api/operator/skills/:skill', {
    GET: showSkill(deps),
    DELETE: plainChange(deps, 'remove'),
  })
  addRoute('/api/operator/skills/:skill/update', { POST: updateSkill(deps) })
  addRoute('/api/operator/skills/:skill/enable', { POST: enableSkill(deps) })
  addRoute('/api/operator/skills/:skill/disable', { POST: plainChange(deps, 'disable') })
}

/** What there is, with what it costs and what it lacks. */
const listSkills: Handle = (deps) => async () =>
  jsonResponse({ skills: await deps.skills.list(presenceIn(deps)) })

const showSkill: Handle = (deps) => async (context) => {
  const skill = await deps.skills.show(nameOf(context), presenceIn(deps))
  if (skill) return jsonResponse(skill)
  throw new IsolaError('request_not_found', 'There is no such skill.')
}

/** A version that waits, named by its hash; `dryRun` only shows what it changes. */
const updateSkill: Handle = (deps) => async (context) => {
  const { hash, dryRun } = parseFields(updateSkillRequest, await readJsonObject(context.req.raw))
  const name = nameOf(context)
  const changes = await deps.skillAdmission.changes(name, { hash })
  if (!changes)
    throw new IsolaError('request_not_found', 'There is no such skill, or version of it.')
  if (dryRun) return jsonResponse({ name, hash, changes, notes: [] })
  const done = await change(deps, context, { do: 'update', name, hash })
  return jsonResponse({ ...done, name, hash, changes })
}

const enableSkill: Handle = (deps) => async (context) => {
  const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
  const { hash } = parseFields(enableSkillRequest, body)
  const seen = hash === undefined ? {} : { hash }
  const name = nameOf(context)
  return jsonResponse({ name, ...(await change(deps, context, { do: 'enable', name, ...seen })) })
}

const plainChange =
  (deps: HttpDeps, what: 'disable' | 'remove') =>
  async (context: HttpContext): Promise<Response> => {
    parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
    const name = nameOf(context)
    return jsonResponse({ name, ...(await change(deps, context, { do: what, name })) })
  }

const change = (deps: HttpDeps, context: HttpContext, skill: SkillChange) =>
  deps.plugins.change({ do: 'skill', skill }, changeBy(deps, context))

const nameOf = (context: HttpContext): string => context.req.param('skill') ?? ''
