// Installed plugins, for a terminal.
import type { Reply } from '../src/client/client.ts'
import type { Manifest } from '../src/contracts/manifest/manifest.ts'
import { lines, listed, short, time } from './text.ts'

export type Plugin = Reply<'GET /api/operator/plugins/:plugin'>
type Listing = Reply<'GET /api/operator/plugins'>
type Version = Plugin['versions'][number]
type Change = Reply<'DELETE /api/operator/plugins/:plugin'>

export const lineOf = ({ text, amount }: Plugin['lines'][number]): string =>
  `  ${short(text, 400)}${amount === undefined ? '' : amount >= Number.MAX_SAFE_INTEGER ? ': no limit' : `: ${amount}`}`

/** A text that models read of it, with what hides in it as codes. */
export const textLine = ({ place, text }: Plugin['texts'][number]): string =>
  `  ${short(place, 200)}: ${short(text, 4_000)}`

const signed = ({ signer, isSignerAccepted }: Version) =>
  signer
    ? `, signed by ${short(signer, 80)}${isSignerAccepted ? '' : ' (a key that is not accepted any more)'}`
    : ''

/** The newest version of each plugin that waits, by the plugin's id. */
type Waiting = Readonly<Record<string, string>>

function remarkOn(
  { id, missing, problem, waiting, isTold }: Listing['plugins'][number],
  { [id]: version }: Waiting,
) {
  const more = waiting > 1 ? `, and ${waiting - 1} more` : ''
  const remarks = [
    problem && short(problem.message),
    missing.length > 0 && `asks for ${missing.length} more`,
    waiting > 0 &&
      (version === undefined
        ? `${waiting} newer version${waiting > 1 ? 's' : ''} waiting`
        : `${version} waits${more}`),
    isTold === false && 'its descriptions were not read',
  ]
  return remarks.filter(Boolean).join('; ')
}

export const listing = ({ generation, plugins }: Listing, versions: Waiting = {}): string => {
  const table = listed(plugins, '', {
    id: 'id',
    version: 'version',
    tier: 'tier',
    state: 'state',
    '': (plugin) => remarkOn(plugin, versions),
  })
  return `${table || 'id  version  tier  state'}\n\nGeneration ${generation}.`
}

export function shown(plugin: Plugin): string {
  const { id, version, tier, state, hash, manifest, missing, problem, versions, update } = plugin
  const waits = new Set(plugin.waiting.map((one) => one.hash))
  const isMissing = new Set(missing.map(({ text }) => text))
  return lines(
    `${id} ${version} (${tier}) is ${state}.`,
    short(Object(manifest).description ?? '', 300),
    `hash ${hash}`,
    plugin.notes.map((note) => short(note, 1_000)),
    problem && `It was switched off: ${short(problem.message, 300)}`,
    plugin.lines.length === 0 ? 'It asks for nothing.' : 'It asks for:',
    plugin.lines.map(
      (line) => `${lineOf(line)}${isMissing.has(line.text) ? '   (not allowed yet)' : ''}`,
    ),
    versions.length > 0 && 'Versions:',
    versions.map(
      (one) =>
        `  ${one.version}  ${one.hash.slice(0, 12)}  ${one.tier}${signed(one)}  from ` +
        `${short(one.source, 300)} by ${short(one.installedBy, 100)} at ` +
        `${time(one.installedAtMs)}${waits.has(one.hash) ? '   (not in use)' : ''}`,
    ),
    update && [
      `Version ${update.version} waits, and ${version} goes on. ${nextOfUpdate(id, update)}`,
      ...update.missing.map((line) => `${lineOf(line)}   (more than ${version} has)`),
    ],
    update && waits.size > 1 && `${waits.size - 1} older ones wait, too.`,
    plugin.isTold === false &&
      `No operator has read what it tells models of itself, so models treat it as a stranger's text: isola ` +
        `plugin grant ${id}`,
  )
}

export const nextOfUpdate = (
  id: string,
  { hash, missing }: NonNullable<Plugin['update']>,
): string =>
  missing.length > 0
    ? `Allow it: isola plugin grant ${id}`
    : `Take it into use: isola plugin accept ${id} ${hash.slice(0, 12)}`

/** The author's words that agents are told, to be read before they reach a model. */
export function toolsOf(manifest: unknown): string[] {
  // The server checked it when it was installed.
  const { contributes, natural_language_description: routing } = Object(
    manifest,
  ) as Partial<Manifest>
  const tools = contributes?.tools ?? []
  return [
    ...(routing ? [`Agents are told: ${short(routing, 300)}`] : []),
    ...(tools.length > 0 ? ['Tools:'] : []),
    ...tools.map(({ name, description }) => `  ${name}: ${short(description, 300)}`),
  ]
}

export const outcome = ({ plugin, notes, generation }: Change): string =>
  lines(
    plugin && `${plugin.id} ${plugin.version} is ${plugin.state}.`,
    notes.map((note) => short(note, 1_000)),
    // Data of a plugin that is gone belongs to no generation.
    generation === undefined
      ? 'What it kept is gone.'
      : `Generation ${generation}; it holds for every run that begins from now on.`,
  )
