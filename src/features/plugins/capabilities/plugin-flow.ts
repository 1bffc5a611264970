import type { JsonObject } from '#contracts/json.ts'
import type { NamedPlace } from '#contracts/destination.ts'
import { joinLabels, labelFrom, type Label, type Sink } from '#contracts/label.ts'
import type { ToolManifest } from '../types/manifest.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { bringsKey } from './brings-key.ts'
import type { AskStorage } from './storage/granted-storage.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

type Granted = Pick<LoadedPlugin, 'tier' | 'granted'> & Partial<Pick<LoadedPlugin, 'manifest'>>
type Hints = ToolManifest['annotations']

const isReading = (method: string) => method === 'GET' || method === 'HEAD'

/** Whether a tool reaches hosts outside. That one of its tools does not is believed of what ships with the deployment. */
const reachesOut = ({ tier, granted }: Granted, hints: Hints): boolean =>
  granted.network.length > 0 && (tier !== 'builtin' || hints.openWorldHint === true)

/**
 * What a plugin's tool does outward, by what it was granted: every host that it may reach is one to which it may send
 * what it was given. What it says in its own favour counts only where it ships with the deployment; that it does more
 * (`declared`), whoever wrote it.
 */
export function sinksOf(
  plugin: Granted,
  hints: Hints,
  declared: readonly Sink[] = [],
): readonly Sink[] {
  const { tier, granted } = plugin
  const isOut = reachesOut(plugin, hints)
  const onlyReads = tier === 'builtin' && hints.readOnlyHint === true
  const sends = isOut && granted.network.some(({ methods }) => !methods.every(isReading))
  // What the whole deployment keeps is read by others than this principal.
  const isShared =
    granted.storage?.scope === 'deployment' ||
    granted.database?.access === 'write' ||
    plugin.manifest?.contributes.events.some((one) => one.public)
  return [
    ...(isOut ? (['egress'] as const) : []),
    ...((sends || isShared) && !onlyReads ? (['write'] as const) : []),
    ...new Set(declared),
  ]
}

/** Where a tool goes that reaches no hosts but those its plugin was granted by name; `undefined` where it may go anywhere, or stays here. */
export function placeOf(
  { tier, granted, manifest: { id } }: Granted & Pick<LoadedPlugin, 'manifest'>,
  hints: Hints,
): NamedPlace | undefined {
  const hosts = new Set(granted.network.map(({ host }) => host.toLowerCase()))
  if (!reachesOut({ tier, granted }, hints) || hosts.has('*')) return undefined
  // Of several hosts nobody here knows which one is told what.
  return hosts.size === 1 ? { home: `${id}__*` } : {}
}

/** What its results can be at worst, besides what it keeps for the session or the principal: each value has its own label. */
export function yieldsOf(plugin: Granted, hints: Hints, from: string): Label {
  const { tier, granted } = plugin
  const isOut = reachesOut(plugin, hints)
  const isForeign = isOut || granted.storage?.scope === 'deployment' || granted.database
  // With a secret it reads what not everybody may, unless we wrote that it reads what everybody can.
  const hasKey = isOut && tier !== 'builtin' && granted.secrets.length > 0
  const confidentiality = hasKey || granted.database ? 'private' : 'public'
  if (isForeign) return labelFrom(from, { confidentiality })
  return made
}

/**
 * What code can have in its globals when a call begins: all that its grants let it read from outside its conversation,
 * in an earlier call or a hook. What ships with the deployment keeps none. What a signer vouches for is one isolate for
 * many conversations: what it was told in them is in there, too.
 */
export function heldBefore(plugin: Granted, from: string): Label {
  const { tier, granted } = plugin
  if (tier === 'builtin') return made
  const isShared = tier === 'trusted' || granted.storage?.scope === 'principal'
  return isShared ? labelFrom(from) : yieldsOf(plugin, opened, from)
}

/** The same of one call: with the host where the input says which, and private where it says with whose key. */
export function yieldsOfCall(
  plugin: Granted,
  hints: Hints,
  call: {
    readonly tool: string
    readonly input: JsonObject
    readonly goesTo: OutsideAddress | undefined
  },
): Label {
  const { tool, input, goesTo } = call
  if (!goesTo) return yieldsOf(plugin, hints, tool)
  const url = new URL(goesTo.url)
  const from = `${tool} ${url.host}`
  return bringsKey(url, input) ? labelFrom(from) : yieldsOf(plugin, hints, from)
}

/** The labels of one call of a plugin: of what its code has read so far, and for what it keeps. */
export interface CallLabels {
  readonly label: () => Label
  /** It reaches out, or reads what the whole deployment keeps. */
  readonly reach: () => void
  /** A redirect led it to this host, too. */
  readonly reachHost: (host: string) => void
  /** Of what it keeps now. */
  readonly kept: () => Label
  /** It read what was kept with this label. */
  readonly readKept: (label: Label | undefined) => void
  readonly wrap: (ask: AskStorage) => AskStorage
}

/** Of code that says nothing of itself: it reaches whatever it was granted. */
export const opened: Hints = { openWorldHint: true }

/** Of what a hook says or changes, once it has done so. */
export const labelsOfHook = (
  plugin: Granted & Pick<LoadedPlugin, 'manifest'>,
  context: ToolContext,
): CallLabels => {
  const { id: tool } = plugin.manifest
  const held = heldBefore(plugin, tool)
  return createCallLabels(yieldsOf(plugin, opened, tool), { tool, context, held })
}

/** What its code makes of what it was given. */
const made: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }

/**
 * What is kept has the label of all that the call knows: its caller's context, what it reached, and what it read. What
 * is read is the principal's data, whoever wrote it.
 *
 * @param beyond Of what it reaches outside, from the moment that it does.
 * @param held Of what its code can have from before.
 */
export function createCallLabels(
  beyond: Label,
  {
    tool,
    context,
    held = made,
  }: { readonly tool: string; readonly context: ToolContext; readonly held?: Label },
): CallLabels {
  let read = joinLabels([made, held])
  const known = () => [read, ...(context.inner ? [context.inner.label?.()] : [])]
  const own = labelFrom(tool, { integrity: 'data' })
  const kept = () => joinLabels([context.label, ...known()])
  const readKept = (label: Label | undefined) => void (read = joinLabels([read, label, own]))
  return {
    kept,
    readKept,
    label: () => joinLabels(known()),
    reach: () => void (read = joinLabels([read, beyond])),
    reachHost(host) {
      const { integrity, confidentiality } = beyond
      read = joinLabels([read, labelFrom(`${tool} ${host}`, { integrity, confidentiality })])
    },
    wrap: (ask) => async (request) => {
      const isKept = request.verb === 'set' || request.verb === 'append'
      const answer = await ask(isKept ? { ...request, label: kept() } : request)
      const { keys = [], entries = [], found = false } = answer
      const isRead = request.verb === 'get' ? found : keys.length > 0 || entries.length > 0
      if (isRead && !isKept) readKept(answer.label)
      return answer
    },
  }
}

/** What a plugin's tool does outward, where it goes, and what its results can be at worst. */
export function flowOf(
  plugin: Granted & Pick<LoadedPlugin, 'manifest'>,
  hints: Hints,
  {
    name,
    declared = [],
  }: { readonly name: string; readonly declared?: readonly Sink[] | undefined },
) {
  const place = placeOf(plugin, hints)
  return {
    sinks: sinksOf(plugin, hints, declared),
    yields: joinLabels([yieldsOf(plugin, hints, name), heldBefore(plugin, name)]),
    ...(place && { goesTo: () => place }),
  }
}

/** Of one call of a tool. */
export const labelsOfCall = (
  plugin: Granted,
  hints: Hints,
  { context, ...call }: Parameters<typeof yieldsOfCall>[2] & { readonly context: ToolContext },
): CallLabels =>
  createCallLabels(yieldsOfCall(plugin, hints, call), {
    tool: call.tool,
    context,
    held: heldBefore(plugin, call.tool),
  })
