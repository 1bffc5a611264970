import { IsolaError } from '#contracts/errors.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { SkillShelf } from '#runtime/catalog/types/skill.ts'
import { clientOf } from '#platform/routes/headers.ts'
import type { GuardDeps, HttpContext, HttpHandler } from '#platform/routes/types.ts'

/** Names the version of Agent Skills Discovery; no request fetches it. */
const schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
const indexFile = 'index.json'
/** So long a client may keep what it got, and so long the index is kept here. */
const maxAgeSeconds = 300
const headers = {
  'cache-control': `public, max-age=${maxAgeSeconds}`,
  'content-security-policy': `default-src 'none'`,
  // Any page may read it: exposed skills are public.
  'access-control-allow-origin': '*',
}

interface Index {
  readonly generation: number
  readonly untilMs: number
  readonly answer: Answer
}

interface Answer {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly mimeType: string
  /** Names exactly these bytes. */
  readonly digest: string
}

export interface AgentSkillDeps extends Pick<GuardDeps, 'readiness' | 'sources'> {
  readonly plugins: Pick<PluginAdministration, 'exposed'>
  readonly skills: Pick<SkillShelf, 'outgoing' | 'artifact'>
  readonly limits: Pick<RequestLimits, 'visitor'>
}

/**
 * `/.well-known/agent-skills`: the skills that an operator made public, by Agent Skills Discovery 0.2.0. Without
 * public skills the route answers as if it did not exist.
 */
export function createAgentSkills(deps: AgentSkillDeps): HttpHandler {
  let index: Index | undefined
  /**
   * Cached, since strangers may request it as often as they like: hashing all skills is dear. It expires, too: a
   * skill can change without a new generation.
   */
  const readIndex = async (names: readonly string[], generation: number): Promise<Answer> => {
    const nowMs = deps.sources.clock.nowMs()
    if (index?.generation === generation && nowMs < index.untilMs) return index.answer
    const answer = await toIndex(deps, names)
    index = { generation, untilMs: nowMs + 60_000, answer }
    return answer
  }
  return async (context) => {
    const readiness = await deps.readiness()
    if (readiness.state === 'not_migrated')
      throw new IsolaError('config_not_migrated', readiness.message)
    const { generation, exposed } = await deps.plugins.exposed()
    const names = exposed.public_skills
    // Without public skills no visitor is counted: a refusal by rate would reveal the route.
    if (names.length > 0) await deps.limits.visitor(clientOf(context))
    const path = context.req.param('path') ?? ''
    const answer =
      names.length > 0 && path === indexFile
        ? await readIndex(names, generation)
        : await findArtifact(deps, names, path)
    return toResponse(context, answer)
  }
}

async function toIndex({ skills }: AgentSkillDeps, names: readonly string[]): Promise<Answer> {
  const found = await skills.outgoing(names)
  const entries = found.skills.map(async (skill) => {
    const { type, path, digest } = await skills.artifact(skill)
    const { name, description } = skill
    return { name, type, description, url: `/.well-known/agent-skills/${path}`, digest }
  })
  const body = JSON.stringify({ $schema: schema, skills: await Promise.all(entries) })
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  const digest = btoa(String.fromCharCode(...new Uint8Array(hash)))
  return { body, mimeType: 'application/json', digest }
}

/** A skill that does not exist and a skill that is not public look alike. */
async function findArtifact(
  { skills }: AgentSkillDeps,
  names: readonly string[],
  path: string,
): Promise<Answer> {
  const name = names.find((one) => path === `${one}/SKILL.md` || path === `${one}.zip`)
  const [skill] = name === undefined ? [] : (await skills.outgoing([name])).skills
  const artifact = skill && (await skills.artifact(skill))
  if (artifact?.path !== path) throw new IsolaError('request_not_found', 'There is no such route.')
  const { bytes, mimeType, digest } = artifact
  const isText = mimeType.startsWith('text/')
  return { body: bytes, mimeType: isText ? `${mimeType}; charset=utf-8` : mimeType, digest }
}

function toResponse({ req }: HttpContext, { body, mimeType, digest }: Answer): Response {
  const etag = `"${digest}"`
  const known = (req.header('if-none-match') ?? '').split(',')
  // A proxy that compresses makes the tag a weak one.
  const isKnown = known.some((one) => one.trim().replace(/^W\//, '') === etag)
  const all = { ...headers, etag }
  if (isKnown) return new Response(null, { status: 304, headers: all })
  return new Response(body, { headers: { ...all, 'content-type': mimeType } })
}
