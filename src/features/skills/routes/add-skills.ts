import { defined } from '#contracts/defined.ts'
import { noFields, jsonResponse } from '#platform/routes/answer.ts'
import { addSkillsQuery, fetchSkillsRequest, sendSkillRequest } from './requests.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type {
  ReadSkillUpload,
  RefusedSkill,
  SkillAdmission,
  SkillUpload,
} from '#runtime/catalog/types/skill-catalog.ts'
import { readJsonObject, readZip } from '#platform/routes/body.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { changeBy, recordRefusal, type RefusalDeps } from '#runtime/session/requests/asker.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** The dependencies of an installation. */
export interface AddSkillDeps extends RefusalDeps {
  readonly plugins: Pick<PluginAdministration, 'change'>
  readonly skillAdmission: SkillAdmission
}

/** `POST /api/operator/skills`. */
export const addSkills = async (deps: AddSkillDeps, context: RequestContext): Promise<Response> =>
  installSkills(deps, context, await readRequest(context))

/**
 * Installs a version of one skill, or of all skills of a collection, and enables none. Each skill of a collection
 * stands for itself: a skill that cannot be installed is named with the reason, and the others are installed.
 */
export async function installSkills(
  deps: AddSkillDeps,
  context: RequestContext,
  { upload, allowLookAlike, dryRun }: Asked,
): Promise<Response> {
  const by = changeBy(context)
  const read = await deps.skillAdmission.read(upload).catch(async (error: unknown) => {
    await recordRefusal(deps, by, { asked: 'skill add', error })
    throw error
  })
  const refused: RefusedSkill[] = [...read.refused]
  const isAlone = read.skills.length + refused.length === 1
  const skills = []
  let generation: number | undefined
  for (const one of read.skills) {
    const { version, bundle, text, notes } = one
    const { name, hash, tier } = version
    const whose = { installedAtMs: deps.sources.clock.nowMs(), installedBy: by.principal }
    const change = {
      do: 'add',
      version: { ...version, ...whose },
      bundle: text,
      ...(allowLookAlike && { allowLookAlike }),
      ...(dryRun && { dryRun }),
    } as const
    try {
      const changes = await deps.skillAdmission.changes(name, { version, bundle })
      const done = await deps.plugins.change({ do: 'skill', skill: change }, by)
      if (!dryRun) generation = done.generation
      const said = { name, hash, tier, ...about(one), ...defined({ changes }) }
      skills.push({ ...said, notes: [...notes, ...done.notes] })
    } catch (error) {
      const code = errorCode(error)
      // A fault of the deployment stops all of them.
      if (code === undefined || code === 'request_unavailable' || isAlone) throw error
      refused.push({ name, code, message: errorMessage(error) })
    }
  }
  const answer = { skills, refused, ...defined({ generation }) }
  return jsonResponse(answer, { status: dryRun ? 200 : 201 })
}

interface Asked {
  readonly upload: SkillUpload
  readonly allowLookAlike?: boolean | undefined
  /** Only shows which skills would be installed, and the changes. */
  readonly dryRun?: boolean | undefined
}

async function readRequest({ raw, search }: RequestContext): Promise<Asked> {
  const type = raw.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/zip' || type === 'application/x-zip-compressed') {
    const { skills, ...options } = parseFields(addSkillsQuery, search)
    return { upload: { zip: await readZip(raw), skills: skills?.split(',') }, ...options }
  }
  parseFields(noFields, search)
  const json = await readJsonObject(raw)
  if ('url' in json) {
    const { allowLookAlike, dryRun, ...upload } = parseFields(fetchSkillsRequest, json)
    return { upload, allowLookAlike, dryRun }
  }
  const { allowLookAlike, dryRun, source, ...sent } = parseFields(sendSkillRequest, json)
  return { upload: { sent, source }, allowLookAlike, dryRun }
}

const about = ({ version }: ReadSkillUpload) => {
  const { description, kind, requires, paths, source } = version
  return { description, kind, requires, files: paths, source }
}
