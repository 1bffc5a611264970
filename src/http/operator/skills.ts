import { IsolaError } from '#contracts/errors.ts'
import { toRequired, type IsThere } from '#contracts/skill.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/skills`: what there is, with what it costs and what it lacks. */
export const listSkills: Handle = (deps) => async () =>
  jsonResponse({ skills: await deps.skills.list(presenceIn(deps)) })

/** `GET /api/operator/skills/:skill`: one with its files. */
export const showSkill: Handle = (deps) => async (context) => {
  const name = context.req.param('skill') ?? ''
  const skill = await deps.skills.show(name, presenceIn(deps))
  if (!skill) throw new IsolaError('request_not_found', 'There is no such skill.')
  return jsonResponse(skill)
}

/** What is enabled, whoever may have it. */
function presenceIn({ agents }: HttpDeps): IsThere {
  const names = new Map<string, Promise<boolean>>()
  const isAny = async (wanted: string) => (await agents.toolNames([wanted])).length > 0
  return (requirement) => {
    const wanted = toRequired(requirement)
    const pattern = 'tool' in wanted ? wanted.tool : `${wanted.owner}__*`
    const known = names.get(pattern) ?? isAny(pattern)
    names.set(pattern, known)
    return known
  }
}
