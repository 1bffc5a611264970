import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SkillLibrary } from '#runtime/catalog/types/skill.ts'
import type { SkillChange } from '#runtime/catalog/types/skill-catalog.ts'
import { changeBy, presenceIn } from '#runtime/session/requests/asker.ts'
import { noBody } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { installers, operators, pluginReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, json, notes, text } from '#platform/routes/shapes.ts'
import { addSkills, type AddSkillDeps } from './routes/add-skills.ts'
import {
  addition,
  change,
  changes,
  hash,
  kind,
  requires,
  tier,
  addSkillsQuery,
  enableSkillRequest,
  fetchSkillsRequest,
  sendSkillRequest,
  updateSkillRequest,
} from './routes/requests.ts'

interface SkillDeps {
  readonly skills: Pick<SkillLibrary, 'list' | 'show'>
  readonly agents: Pick<AgentDirectory, 'toolNames'>
}

const params = { skill: 'Its name.' }
const shared = {
  name: text,
  description: text,
  kind,
  requires,
  license: text.optional(),
  compatibility: text.optional(),
  hash,
  tier,
  state: z
    .enum(['ready', 'gated', 'installed', 'disabled'])
    .describe(
      '`gated`: it requires what is not there. `installed`: it was never enabled. Only one that is `ready` ' +
        'is found and loaded.',
    ),
  missing: z.array(text).describe('What it requires and is not there.'),
  tokens: z
    .object({
      found: count.describe('Where it is found: name and description; 0 of a persona.'),
      loaded: count.describe('Where its instructions are loaded.'),
    })
    .describe('What a model reads of it, by estimate.'),
  source: text
    .optional()
    .describe('Where it came from. Like what follows, absent of one that ships.'),
  signer: text.optional().describe('The name of the key that signed it.'),
  installedBy: text.optional(),
  installedAtMs: atMs.optional(),
}
const errors = [404, 409]

/** An upload: a skill, or the address of one or several. */
const upload = z.union([sendSkillRequest, fetchSkillsRequest])

/**
 * `/api/operator/skills…`: the skills, and every change of installed skills; `/api/personas`: the personas that a
 * caller may use.
 */
export default [
  route('GET /api/personas', {
    roles: talkers,
    summary: 'What the orchestrator may be asked to speak as.',
    replies: {
      200: {
        is: 'The personas.',
        json: z.object({ personas: z.array(z.object({ name: text, description: text })) }),
      },
    },
    async handle({ skills, agents }: SkillDeps) {
      const all = await skills.list(presenceIn({ agents }))
      const personas = all
        .filter((one) => one.kind === 'persona' && one.state === 'ready')
        .map(({ name, description }) => ({ name, description }))
      return { personas }
    },
  }),
  route('GET /api/operator/skills', {
    roles: pluginReaders,
    summary: 'The skills and personas, with what each costs and lacks.',
    replies: {
      200: { is: 'All of them.', json: z.object({ skills: z.array(z.object(shared)) }) },
    },
    needsAgents: true,
    async handle({ skills, agents }: SkillDeps) {
      return { skills: await skills.list(presenceIn({ agents })) }
    },
  }),
  route('POST /api/operator/skills', {
    roles: installers,
    summary: 'Installs a version of a skill, which enables nothing.',
    query: addSkillsQuery,
    body: upload,
    otherBody: 'application/zip',
    replies: {
      200: { is: 'With `dryRun`: what would be installed.', json: addition },
      201: { is: 'It is there.', json: addition },
    },
    errors: [403, 409, 422, 502],
    readsItself: true,
    needsAgents: true,
    handle: (deps: AddSkillDeps, request) => addSkills(deps, request),
  }),
  route('GET /api/operator/skills/:skill', {
    roles: pluginReaders,
    summary: 'A skill with its files.',
    params,
    replies: {
      200: {
        is: 'The skill.',
        json: z.object({
          ...shared,
          frontMatter: z
            .record(text, json)
            .optional()
            .describe('All that stands at the top of its SKILL.md.'),
          files: z.record(text, text).describe('Text by path; `SKILL.md` is one of them.'),
          versions: z
            .array(z.object({ hash, tier, source: text, installedBy: text, installedAtMs: atMs }))
            .optional()
            .describe('Those that are kept, newest first. Absent of one that ships.'),
        }),
      },
    },
    errors: [404],
    needsAgents: true,
    async handle({ skills, agents }: SkillDeps, { params: { skill } }) {
      const found = await skills.show(skill, presenceIn({ agents }))
      if (found) return found
      throw new IsolaError('request_not_found', 'There is no such skill.')
    },
  }),
  route('DELETE /api/operator/skills/:skill', {
    roles: operators,
    summary: 'Removes an installed skill.',
    params,
    body: noBody,
    replies: { 200: { is: 'It is gone.', json: change } },
    errors,
    needsAgents: true,
    handle: (deps: AddSkillDeps, request) =>
      changed(deps, request, { do: 'remove', name: request.params.skill }),
  }),
  route('POST /api/operator/skills/:skill/update', {
    roles: operators,
    summary: 'Takes a version that waits; with `dryRun` only shows what it changes.',
    params,
    body: updateSkillRequest,
    replies: {
      200: {
        is: 'What it changes, and with `generation` that it did.',
        json: z.object({ name: text, hash, changes, generation: count.optional(), notes }),
      },
    },
    errors,
    needsAgents: true,
    async handle(deps: AddSkillDeps, request) {
      const { skill: name } = request.params
      const { hash: wanted, dryRun } = request.body
      const differs = await deps.skillAdmission.changes(name, { hash: wanted })
      if (!differs)
        throw new IsolaError('request_not_found', 'There is no such skill, or version of it.')
      if (dryRun) return { name, hash: wanted, changes: differs, notes: [] }
      const done = await changed(deps, request, { do: 'update', name, hash: wanted })
      return { ...done, name, hash: wanted, changes: differs }
    },
  }),
  route('POST /api/operator/skills/:skill/enable', {
    roles: operators,
    summary: 'Lets it be found and loaded.',
    params,
    body: enableSkillRequest.optional(),
    replies: { 200: { is: 'What it came to.', json: change } },
    errors,
    needsAgents: true,
    handle(deps: AddSkillDeps, request) {
      const { hash: seen } = request.body
      const { skill: name } = request.params
      return changed(deps, request, {
        do: 'enable',
        name,
        ...(seen !== undefined && { hash: seen }),
      })
    },
  }),
  route('POST /api/operator/skills/:skill/disable', {
    roles: operators,
    summary: 'It is not found and not loaded any more.',
    params,
    body: noBody,
    replies: { 200: { is: 'What it came to.', json: change } },
    errors,
    needsAgents: true,
    handle: (deps: AddSkillDeps, request) =>
      changed(deps, request, { do: 'disable', name: request.params.skill }),
  }),
] as const

async function changed(
  { plugins }: Pick<AddSkillDeps, 'plugins'>,
  context: RequestContext,
  skill: SkillChange & { readonly name: string },
) {
  return { name: skill.name, ...(await plugins.change({ do: 'skill', skill }, changeBy(context))) }
}
