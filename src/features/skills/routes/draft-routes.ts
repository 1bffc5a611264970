import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { labelSchema } from '#contracts/label.ts'
import { draftFields, type SkillDraft } from '#runtime/catalog/types/skill-catalog.ts'
import { noBody } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { operators, readers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, text } from '#platform/routes/shapes.ts'
import type { SkillDraftStore } from '../store/skill-drafts.ts'
import { installSkills, type AddSkillDeps } from './add-skills.ts'
import { addition, promoteDraftRequest } from './requests.ts'

interface DraftDeps {
  readonly skillDrafts: Pick<SkillDraftStore, 'list' | 'find' | 'promote' | 'remove'>
}
type PromoteDeps = DraftDeps & AddSkillDeps

const maxListed = 1_000

const params = { draft: 'The draft’s id: `drf_` and 22 characters.' }

const hash = text.describe('sha-256 of all of its files.')
const label = labelSchema.meta({ id: 'Label' })
const summary = {
  id: text,
  state: z.enum(['open', 'promoted']).describe('One that was promoted stays, for its origin.'),
  name: text,
  description: text,
  requires: z.array(text).describe('Tools that its run called and its text names.'),
  hash,
  principal: text.describe('Whose run wrote the text that it has.'),
  label: label.describe('Of all that the writer of this text had read.'),
  count: count.describe('How often it, or nearly the same, was written.'),
  firstAtMs: atMs,
  lastAtMs: atMs,
  promotedBy: text.optional(),
  promotedAtMs: atMs.optional(),
}
const writing = z.object({
  session: text,
  run: text,
  call: text,
  principal: text,
  agent: text,
  model: text.optional(),
  tools: z.array(text).describe('What its run had called by then.'),
  label,
  hash: text.describe('Of the files as they were written this time.'),
  atMs,
})
const draft = z.object({
  ...summary,
  files: z.record(text, text).describe('Text by path; `SKILL.md` is one of them.'),
  writings: z.array(writing).describe('The last times that it was written, newest first.'),
})

/** `/api/operator/skill-drafts…`: skills that agents wrote, until an operator promotes them. */
export default [
  route('GET /api/operator/skill-drafts', {
    roles: readers,
    summary: 'Skills that agents wrote, the open ones first, each group newest first.',
    replies: {
      200: {
        is: 'At most 1,000 of them.',
        json: z.object({ drafts: z.array(z.object(summary)) }),
      },
    },
    async handle({ skillDrafts }: DraftDeps) {
      return { drafts: await skillDrafts.list(maxListed) }
    },
  }),
  route('GET /api/operator/skill-drafts/:draft', {
    roles: readers,
    summary: 'A draft with its files and where it came from.',
    params,
    replies: { 200: { is: 'The draft.', json: draft } },
    errors: [404],
    handle: (deps: DraftDeps, { params }) => findDraft(deps, params.draft),
  }),
  route('POST /api/operator/skill-drafts/:draft/promote', {
    roles: operators,
    summary: 'Installs exactly this text as a community skill, which enables nothing.',
    params,
    body: promoteDraftRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be installed.', json: addition },
      201: { is: 'It is there.', json: addition },
    },
    errors: [403, 404, 409, 422],
    handle: (deps: PromoteDeps, request) => promoteDraft(deps, request, request.body),
  }),
  route('DELETE /api/operator/skill-drafts/:draft', {
    roles: operators,
    summary: 'Takes a draft away. A skill that it was promoted to stays.',
    params,
    body: noBody,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: z.literal(true) }) } },
    errors: [404],
    async handle(deps: DraftDeps, { params, by }) {
      const { id } = await findDraft(deps, params.draft)
      if (!(await deps.skillDrafts.remove(id, by()))) throw noSuchDraft()
      return { id, deleted: true }
    },
  }),
] as const

/**
 * Exactly the text that was looked at goes the way of every skill that is installed. The draft is marked after that:
 * where
 * marking fails, the same request again installs nothing more.
 */
async function promoteDraft(
  deps: PromoteDeps,
  context: RequestContext & { readonly params: { readonly draft: string } },
  { hash: wanted, ...options }: z.output<typeof promoteDraftRequest>,
): Promise<Response> {
  const found = await findDraft(deps, context.params.draft)
  const { id, name, files } = found
  if (found.state !== 'open' || found.hash !== wanted) throw another(found)
  const sent = { folder: name, bundle: { fields: draftFields(found), files } }
  const upload = { sent, source: `draft ${id}` }
  const response = await installSkills(deps, context, { upload, ...options })
  if (options.dryRun) return response
  if (await deps.skillDrafts.promote(id, wanted, context.by())) return response
  throw another(found)
}

async function findDraft({ skillDrafts }: DraftDeps, id: string): Promise<SkillDraft> {
  const found = await skillDrafts.find(id)
  if (!found) throw noSuchDraft()
  return found
}

const noSuchDraft = () => new IsolaError('request_not_found', 'There is no such draft.')

function another({ id, state }: SkillDraft): IsolaError {
  const message =
    state === 'promoted'
      ? `${id} was promoted already.`
      : `hash: ${id} has another text by now. Look again (isola skill draft ${id}) and promote what you see.`
  return new IsolaError('request_conflict', message, { param: 'hash' })
}
