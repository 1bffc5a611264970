// isola skill drafts|draft|promote|discard: skills that agents wrote, which nothing finds or loads until one is promoted.
import type { Client, Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { confirm } from './confirm.ts'
import { changesText } from './skill-changes.ts'
import { short, shown, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Draft = Reply<'GET /api/operator/skill-drafts/:draft'>
type Label = Draft['label']
type Writing = Draft['writings'][number]

const load = (request: Client['request'], draft: string) =>
  request('GET /api/operator/skill-drafts/:draft', { params: { draft } })

const labelText = ({ integrity, confidentiality, sources }: Label) => {
  const from = sources.map((one) => short(one.from)).join(', ')
  return `${integrity}, ${confidentiality}${from === '' ? '' : `: ${from}`}`
}

const head = ['id', 'name', 'written', 'last', 'by', 'has read', 'description']
const rowOf = (draft: Reply<'GET /api/operator/skill-drafts'>['drafts'][number]) => [
  draft.id,
  draft.state === 'open' ? draft.name : `${draft.name} (promoted)`,
  `${draft.count} ×`,
  time(draft.lastAtMs),
  draft.principal,
  `${draft.label.integrity}, ${draft.label.confidentiality}`,
  short(draft.description, 60),
]

async function drafts({ request, print }: Context) {
  const all = await request('GET /api/operator/skill-drafts')
  const text =
    all.drafts.length > 0 ? table([head, ...all.drafts.map(rowOf)]) : 'There is no draft.'
  print(all, text)
}

/** Behind a bar: no line of it passes for one of ours. */
const barred = (text: string) => shown(text).trimEnd().replaceAll(/^/gm, '| ')

/** All of it: whoever promotes it says that every word may be read. */
function described(draft: Draft): string {
  const { id, name, state, hash, principal, label, count, requires, files, writings } = draft
  return [
    ...Object.entries(files).flatMap(([path, text]) => [short(path), barred(text), '']),
    `${id}: ${short(name)}, ${state}, version ${hash.slice(0, 12)}`,
    `  written ${count} ${count === 1 ? 'time' : 'times'}, last ${time(draft.lastAtMs)}; this text in a run of ${short(principal)}`,
    `  its writer had read: ${labelText(label)}`,
    ...(label.integrity === 'stranger'
      ? ['  A stranger can have had a say in every line of it.']
      : []),
    ...(label.confidentiality === 'private'
      ? [
          `  It may quote what is private to ${short(principal)}, and everybody’s agents would read it.`,
        ]
      : []),
    ...writings.map((one) => `  ${writingText(one)}`),
    `  requires ${requires.map((each) => short(each)).join(', ') || 'nothing'}`,
    '  Promoted, it is a community skill, off until it is enabled. Then agents find it and read it as a stranger’s text; nothing of it runs.',
  ].join('\n')
}

function writingText({ atMs, agent, principal, model, session, run, tools, label }: Writing) {
  const by = `${short(agent)} for ${short(principal)} with ${short(model ?? 'a model that is not known')}`
  const used = tools.map((tool) => short(tool)).join(', ') || 'no tools'
  return `${time(atMs)} ${by}, ${session} ${run}, had called ${used}; had read ${labelText(label)}`
}

async function draft({ args: [id], request, print }: Context<object, [string]>) {
  const found = await load(request, id)
  print(found, described(found))
}

const promoteOptions = {
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
  'look-alike': {
    type: 'boolean',
    about: 'its name looks like another skill’s, and that is meant',
  },
} as const satisfies Options

async function promote({
  args: [id],
  values,
  request,
  print,
  stdin,
  stderr,
}: Context<ValuesOf<typeof promoteOptions>, [string]>) {
  const found = await load(request, id)
  // What was shown, whatever an agent writes meanwhile.
  const body = { hash: found.hash, ...(values['look-alike'] && { allowLookAlike: true }) }
  const ask = (more: { readonly dryRun?: true }) =>
    request('POST /api/operator/skill-drafts/:draft/promote', {
      params: { draft: id },
      body: { ...body, ...more },
    })
  const changes = (await ask({ dryRun: true })).skills.flatMap((one) =>
    one.changes ? [changesText(one.name, one.changes)] : [],
  )
  stderr.write(`${[described(found), ...changes].join('\n\n')}\n`)
  if (!values.yes && !stdin.isTTY)
    throw new UsageError('Say --yes to promote it without being asked: nobody is at a terminal.')
  if (!values.yes && !(await confirm('Install it as a skill?', { stdin, stderr })))
    throw new Error('Nothing was installed.')
  const done = await ask({})
  const notes = done.skills.flatMap((one) => one.notes)
  const next =
    changes.length > 0 ? [] : [`Next: isola skill enable ${found.name} ${found.hash.slice(0, 12)}`]
  print(done, [`${found.name} is installed.`, ...notes, ...next].join('\n'))
}

async function discard({ args: [id], request, print }: Context<object, [string]>) {
  const done = await request('DELETE /api/operator/skill-drafts/:draft', { params: { draft: id } })
  print(done, `${id} is gone.`)
}

export const draftVerbs = defineVerbs({
  drafts: {
    usage: 'isola skill drafts',
    about: 'What agents wrote as skills, and nobody uses until one is promoted.',
    run: drafts,
  },
  draft: {
    usage: 'isola skill draft <id>',
    about: 'One of them: its whole text, where it came from, and what its writer had read.',
    run: draft,
  },
  promote: {
    usage: 'isola skill promote <id> [--yes] [--look-alike]',
    about: 'Shows a draft and installs exactly that as a community skill, which enables nothing.',
    options: promoteOptions,
    run: promote,
  },
  discard: {
    usage: 'isola skill discard <id> [--yes]',
    about: 'Takes a draft away. A skill that it was promoted to stays.',
    asks: ({ args: [id] }: Context<object, [string]>) => `Take the draft ${short(id)} away?`,
    run: discard,
  },
})
