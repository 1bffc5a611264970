// isola skill drafts|draft|promote|discard: skills that agents wrote, which nothing finds or loads until one is promoted.
import type { Client, Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { confirm } from './confirm.ts'
import { short, shown, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Draft = Reply<'GET /api/operator/skill-drafts/:draft'>
type Label = Draft['label']

const load = (request: Client['request'], draft: string) =>
  request('GET /api/operator/skill-drafts/:draft', { params: { draft } })

const labelText = ({ integrity, confidentiality, sources }: Label) => {
  const from = sources.map((one) => one.from).join(', ')
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

/** All of it: whoever promotes it says that every word may be read. */
function described(draft: Draft): string {
  const { id, name, state, hash, principal, label, count, requires, files, writings } = draft
  const isStrange = label.integrity === 'stranger'
  return shown(
    [
      ...Object.entries(files).flatMap(([path, text]) => [`--- ${path}`, text.trimEnd(), '']),
      `--- ${id}: ${name}, ${state}`,
      `version ${hash.slice(0, 12)}, of a run of ${principal}; written ${count} times, last ${time(draft.lastAtMs)}`,
      `who wrote this text had read: ${labelText(label)}`,
      ...(isStrange ? ['A stranger can have had a say in every line of it.'] : []),
      ...(label.confidentiality === 'private'
        ? [`It may quote what is private to ${principal}: everybody’s agents would read it.`]
        : []),
      ...writings.map(
        (one) =>
          `  ${time(one.atMs)} ${one.agent} for ${one.principal}, ${one.model ?? 'model unknown'}, ${one.session} ${one.run}: ${one.tools.join(', ') || 'no tools'}; ${labelText(one.label)}`,
      ),
      `Promoted, it is a community skill, off until it is enabled: agents find it and read it as a stranger’s text, and nothing of it runs. ${requires.length > 0 ? `It requires ${requires.join(', ')}.` : 'It requires nothing.'}`,
    ].join('\n'),
  )
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
  stderr.write(`${described(found)}\n`)
  if (!values.yes && !stdin.isTTY)
    throw new UsageError('Say --yes to promote it without being asked: nobody is at a terminal.')
  if (!values.yes && !(await confirm('Install it as a skill?', { stdin, stderr })))
    throw new Error('Nothing was installed.')
  const done = await request('POST /api/operator/skill-drafts/:draft/promote', {
    params: { draft: id },
    // What was shown, whatever an agent writes meanwhile.
    body: { hash: found.hash, ...(values['look-alike'] && { allowLookAlike: true }) },
  })
  const notes = done.skills.flatMap((one) => one.notes)
  print(done, [...notes, `Installed. Next: isola skill enable ${found.name}`].join('\n'))
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
