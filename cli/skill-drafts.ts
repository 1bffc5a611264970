// isola skill drafts|draft|promote|discard: skills that agents wrote, which nothing finds or loads until one is
// promoted.
import type { Reply } from '../src/client/client.ts'
import { on, verb } from './command.ts'
import { agree } from './confirm.ts'
import { flag, yes } from './options.ts'
import { changesText } from './skill-add.ts'
import { lines, listed, short, shown, time } from './text.ts'

type Draft = Reply<'GET /api/operator/skill-drafts/:draft'>
type Label = Draft['label']
type Writing = Draft['writings'][number]

const labelText = ({ integrity, confidentiality, sources }: Label) => {
  const from = sources.map((one) => short(one.from)).join(', ')
  return `${integrity}, ${confidentiality}${from === '' ? '' : `: ${from}`}`
}

/** Behind a bar: no line of it passes for one of ours. */
const barred = (text: string) => shown(text).trimEnd().replaceAll(/^/gm, '| ')

/** All of it: the operator who promotes a draft lets agents read every word. */
function described(draft: Draft): string {
  const { id, name, state, hash, principal, label, count, requires, files, writings } = draft
  const isPrivate = label.confidentiality === 'private'
  return lines(
    Object.entries(files).flatMap(([path, text]) => [short(path), barred(text), '']),
    `${id}: ${short(name)}, ${state}, version ${hash.slice(0, 12)}`,
    `  written ${count} ${count === 1 ? 'time' : 'times'}, last ${time(draft.lastAtMs)}; this text in a run ` +
      `of ${short(principal)}`,
    `  its writer had read: ${labelText(label)}`,
    label.integrity === 'stranger' && '  A stranger can have had a say in every line of it.',
    isPrivate &&
      `  It may quote what is private to ${short(principal)}, and the agents of all principals would read it.`,
    writings.map((one) => `  ${writingText(one)}`),
    `  requires ${requires.map((each) => short(each)).join(', ') || 'nothing'}`,
    '  Promoted, it is a community skill, off until it is enabled. Then agents find it and read it as a ' +
      'stranger’s text; nothing of it runs.',
  )
}

function writingText({ atMs, agent, principal, model, session, run, tools, label }: Writing) {
  const by = `${short(agent)} for ${short(principal)} with ${short(model ?? 'a model that is not known')}`
  const used = tools.map((tool) => short(tool)).join(', ') || 'no tools'
  return `${time(atMs)} ${by}, ${session} ${run}, had called ${used}; had read ${labelText(label)}`
}

export const draftVerbs = {
  drafts: on('GET /api/operator/skill-drafts', {
    about: 'What agents wrote as skills, and no agent uses until one is promoted.',
    says: ({ drafts }) =>
      listed(drafts, 'There is no draft.', {
        id: 'id',
        name: ({ state, name }) => (state === 'open' ? name : `${name} (promoted)`),
        written: ({ count }) => `${count} ×`,
        last: 'lastAtMs',
        by: 'principal',
        'has read': ({ label }) => `${label.integrity}, ${label.confidentiality}`,
        description: ({ description }) => short(description, 60),
      }),
  }),
  draft: on('GET /api/operator/skill-drafts/:draft', {
    usage: '<id>',
    about: 'One of them: its whole text, where it came from, and what its writer had read.',
    says: described,
  }),
  promote: verb({
    usage: '<id> [--yes] [--look-alike]',
    about: 'Shows a draft and installs exactly that as a community skill, which enables nothing.',
    options: {
      ...yes,
      'look-alike': flag('its name looks like another skill’s, and that is meant', {
        to: 'allowLookAlike',
      }),
    },
    async run({ ask, sent, print, ...context }) {
      const found = await ask('GET /api/operator/skill-drafts/:draft')
      // The text that was shown, even if an agent writes another meanwhile.
      const body = { hash: found.hash, ...sent() }
      const route = 'POST /api/operator/skill-drafts/:draft/promote'
      const rehearsed = await ask(route, { ...body, dryRun: true })
      const changes = rehearsed.skills.flatMap((one) =>
        one.changes ? [changesText(one.name, one.changes)] : [],
      )
      await agree(context, {
        text: [described(found), ...changes].join('\n\n'),
        question: 'Install it as a skill?',
        to: 'promote it',
        otherwise: 'Nothing was installed.',
      })
      const done = await ask(route, body)
      print(
        done,
        lines(
          `${found.name} is installed.`,
          done.skills.flatMap((one) => one.notes),
          changes.length === 0 &&
            `Next: isola skill enable ${found.name} ${found.hash.slice(0, 12)}`,
        ),
      )
    },
  }),
  discard: on('DELETE /api/operator/skill-drafts/:draft', {
    usage: '<id>',
    about: 'Takes a draft away. A skill that it was promoted to stays.',
    asks: (id) => `Take the draft ${id} away?`,
    says: (_gone, { args: [id] }) => `${id} is gone.`,
  }),
} as const
