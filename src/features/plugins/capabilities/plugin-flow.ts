import type { JsonObject } from '#contracts/json.ts'
import type { NamedPlace, OutsideAddress } from '#contracts/destination.ts'
import { joinLabels, labelFrom, type Label, type Sink } from '#contracts/label.ts'
import type { ToolManifest } from '../types/manifest.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { AskStorage } from './storage/granted-storage.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

const keyNames = new RegExp(
  '(^|[-_.])(api[-_]?key|apikey|key|access[-_]?token|token|auth|authorization|password|passwd|pwd|' +
    'secret|session|sid|jwt|sig|signature|credential|code)$',
  'i',
)

/** The look of a key: sixteen or more letters and digits without a break, and some of each. */
const keyForm = /(?<![a-z0-9])(?=[a-z0-9]*\d)(?=[a-z0-9]*[a-z])[a-z0-9]{16,}/i
const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i
const looksLikeKey = (text: string): boolean => keyForm.test(text) || uuid.test(text)

/**
 * Whether a request identifies or authorizes its sender: by a header, a body, a user in its address, or a text that
 * looks like a key. Its answer is private then. False alarms are better than misses: a label that is too strict only
 * asks once more.
 */
function bringsKey(url: URL, { headers, body }: JsonObject): boolean {
  const { username, password, pathname, searchParams } = url
  return (
    Object.keys(Object(headers)).length > 0 ||
    (body !== undefined && body !== '') ||
    username !== '' ||
    password !== '' ||
    looksLikeKey(decoded(pathname)) ||
    [...searchParams].some(([name, value]) => keyNames.test(name) || looksLikeKey(value))
  )
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

type Granted = Pick<LoadedPlugin, 'tier' | 'granted'> & Partial<Pick<LoadedPlugin, 'manifest'>>
type Hints = ToolManifest['annotations']

const isReading = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * Whether a tool reaches hosts outside. Only a plugin that ships with the deployment is believed when a hint says no.
 */
const reachesOut = ({ tier, granted }: Granted, hints: Hints): boolean =>
  granted.network.length > 0 && (tier !== 'builtin' || hints.openWorldHint === true)

/**
 * The sinks of a plugin's tool by its grants: a host that a tool may reach can be sent the tool's input. Hints in the
 * tool's favour count only if the plugin ships with the deployment; declared extra sinks (`declared`) count from any
 * plugin.
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
  // Other principals read values that are shared by the deployment.
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

/**
 * The place of a tool that reaches only the hosts its plugin was granted by name; `undefined` if the tool may go
 * anywhere or stays here.
 */
export function placeOf(
  { tier, granted, manifest: { id } }: Granted & Pick<LoadedPlugin, 'manifest'>,
  hints: Hints,
): NamedPlace | undefined {
  const hosts = new Set(granted.network.map(({ host }) => host.toLowerCase()))
  if (!reachesOut({ tier, granted }, hints) || hosts.has('*')) return undefined
  // With several hosts it is unknown which one gets which data.
  return hosts.size === 1 ? { home: `${id}__*` } : {}
}

/** The worst label of the tool's results. Values in storage of the session or the principal have their own labels. */
export function yieldsOf(plugin: Granted, hints: Hints, from: string): Label {
  const { tier, granted } = plugin
  const isOut = reachesOut(plugin, hints)
  const isForeign = isOut || granted.storage?.scope === 'deployment' || granted.database
  // With a secret a tool can read private data, except where a plugin of the deployment declares otherwise.
  const hasKey = isOut && tier !== 'builtin' && granted.secrets.length > 0
  const confidentiality = hasKey || granted.database ? 'private' : 'public'
  if (isForeign) return labelFrom(from, { confidentiality })
  return made
}

/**
 * The label of everything that the code's globals may hold when a call begins: data that an earlier call or a hook
 * could read under its grants. Code that ships with the deployment keeps nothing. A trusted plugin's isolate serves
 * many conversations, so its globals may hold texts of those too.
 */
export function heldBefore(plugin: Granted, from: string): Label {
  const { tier, granted } = plugin
  if (tier === 'builtin') return made
  const isShared = tier === 'trusted' || granted.storage?.scope === 'principal'
  return isShared ? labelFrom(from) : yieldsOf(plugin, opened, from)
}

interface ReachingCall {
  readonly tool: string
  readonly input: JsonObject
  readonly goesTo: OutsideAddress | undefined
}

/** The same for one call: with its host if the input names one, and private if the input brings a key. */
export function yieldsOfCall(
  plugin: Granted,
  hints: Hints,
  { tool, input, goesTo }: ReachingCall,
): Label {
  if (!goesTo) return yieldsOf(plugin, hints, tool)
  const url = new URL(goesTo.url)
  const from = `${tool} ${url.host}`
  return bringsKey(url, input) ? labelFrom(from) : yieldsOf(plugin, hints, from)
}

/** The labels of one plugin call: of its results so far, and of the values it stores. */
export type CallLabels = ReturnType<typeof createCallLabels>

/** Hints of code that declares none: it reaches everything it was granted. */
export const opened: Hints = { openWorldHint: true }

/** The labels of a hook's answers and changes. */
export const labelsOfHook = (
  plugin: Granted & Pick<LoadedPlugin, 'manifest'>,
  context: ToolContext,
): CallLabels => {
  const { id: tool } = plugin.manifest
  const held = heldBefore(plugin, tool)
  return createCallLabels(yieldsOf(plugin, opened, tool), { tool, context, held })
}

/** The label of a result that depends on the input alone. */
const made: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }

/**
 * Labels of one call. A stored value gets the label of everything the call knows: its caller's context, the hosts it
 * reached, and the values it read. A value read from storage has at least the label of the principal's data,
 * whichever principal wrote it.
 *
 * @param beyond Label of the hosts outside, added once the call reaches out.
 * @param held Label of data that the code may have from earlier calls.
 */
export function createCallLabels(
  beyond: Label,
  {
    tool,
    context,
    held = made,
  }: { readonly tool: string; readonly context: ToolContext; readonly held?: Label },
) {
  let read = joinLabels([made, held])
  const known = () => [read, ...(context.inner ? [context.inner.label?.()] : [])]
  const own = labelFrom(tool, { integrity: 'data' })
  const kept = () => joinLabels([context.label, ...known()])
  const readKept = (label: Label | undefined) => void (read = joinLabels([read, label, own]))
  return {
    /** The label of a value stored now. */
    kept,
    /** The call read a stored value with this label. */
    readKept,
    label: () => joinLabels(known()),
    /** The call reaches out, or reads values that the deployment shares. */
    reach: () => void (read = joinLabels([read, beyond])),
    /** A redirect led the call to this host, too. */
    reachHost: (host: string): void => {
      const { integrity, confidentiality } = beyond
      read = joinLabels([read, labelFrom(`${tool} ${host}`, { integrity, confidentiality })])
    },
    wrap:
      (ask: AskStorage): AskStorage =>
      async (request) => {
        const isKept = request.verb === 'set' || request.verb === 'append'
        const answer = await ask(isKept ? { ...request, label: kept() } : request)
        const { keys = [], entries = [], found = false } = answer
        const isRead = request.verb === 'get' ? found : keys.length > 0 || entries.length > 0
        if (isRead && !isKept) readKept(answer.label)
        return answer
      },
  }
}

/** The sinks, the place and the worst label of a plugin's tool. */
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

/** The labels of one tool call. */
export const labelsOfCall = (
  plugin: Granted,
  hints: Hints,
  { context, ...call }: ReachingCall & { readonly context: ToolContext },
): CallLabels =>
  createCallLabels(yieldsOfCall(plugin, hints, call), {
    tool: call.tool,
    context,
    held: heldBefore(plugin, call.tool),
  })
