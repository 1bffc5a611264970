import type { JsonObject } from '#contracts/json.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { hasLongName, schemaProblem, isHarmfulUri } from './definition-rules.ts'
import { first, hiddenPart } from '#contracts/visible-text.ts'
import { headOf } from '#contracts/cut.ts'
import { placeOf } from './visible-text.ts'
import { isReachableHost, permitLines, toPermit } from '#runtime/catalog/types/permit.ts'

/** A reviewer reads no more lines than this before allowing them. */
const maxPermitLines = 200

const maxLineChars = 300

/** Fields whose text may have several lines, and everything inside these fields. */
const texts = new Set([
  'description',
  'natural_language_description',
  'input_schema',
  'output_schema',
  'config_schema',
  'config',
  'variables',
  'suggestions',
])

const label = '[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?'

// A port is allowed for this machine alone, in development: elsewhere it is 443.
const hostForm = new RegExp(
  `^(?:\\*|(?:${label}\\.)*${label}|\\[[0-9a-f:.]+\\]|(?:localhost|127\\.0\\.0\\.1|\\[::1\\]):\\d{1,5})$`,
  'i',
)

/**
 * Finds a part of a manifest that would be hidden from its reviewer or could not be read, with its place. Checked
 * when a plugin arrives; an installed plugin goes on, and its hidden characters are shown as codes.
 */
export function manifestProblem(value: JsonObject, manifest: Manifest): string | undefined {
  return (
    hiddenIn(value) ??
    (hasLongName(value) ? 'has a name of a property of more than 200 characters' : undefined) ??
    first(hostsIn(manifest), ([place, host]) => hostProblem(place, host)) ??
    first(namesIn(manifest), ([place, name, form]) =>
      form.test(name)
        ? undefined
        : `${place}: must be a name, not ${JSON.stringify(headOf(name, 80))}`,
    ) ??
    first(schemasIn(manifest), ([place, schema]) =>
      atPlace(place, schemaProblem('schema', schema)),
    ) ??
    first(manifest.contributes.resources, ({ name, uri, uriTemplate = uri }) =>
      isHarmfulUri(uriTemplate ?? '')
        ? `contributes.resources: "${name}" has a URI that could harm whoever opens it`
        : undefined,
    ) ??
    permitProblem(manifest)
  )
}

function hiddenIn(value: JsonObject): string | undefined {
  const found = hiddenPart(value, texts)
  return found && `${placeOf(found)}: ${found.problem}`
}

type Placed<T> = readonly (readonly [place: string, T])[]

const hostsIn = ({ grants: { network, secrets } }: Manifest): Placed<string> => [
  ...network.map(({ host }, index) => [`grants.network[${index}].host`, host] as const),
  ...secrets.flatMap(({ host }, index) =>
    host === undefined ? [] : [[`grants.secrets[${index}].host`, host] as const],
  ),
]

const toolForm = /^(\*|[A-Za-z0-9_-]{1,64}\*?)$/

const modelForm = /^[\w./:@-]+$/

/** Names in the lines of a permit: another form could smuggle more text into a line. */
const namesIn = ({ uses_tools: used, agent, grants: { model } }: Manifest) => [
  ...placed('uses_tools', used, toolForm),
  ...placed('agent.uses_tools', agent?.uses_tools, toolForm),
  ...placed('agent.disallowed_tools', agent?.disallowed_tools, toolForm),
  ...(agent ? [['agent.model', agent.model, modelForm] as const] : []),
  ...placed('grants.model.models', model?.models, modelForm),
]

const placed = (place: string, names: readonly string[] = [], form: RegExp) =>
  names.map((name, index) => [`${place}[${index}]`, name, form] as const)

/** A star before a domain grants nothing, but a reviewer could read it as a grant: `*.com` above all. */
function hostProblem(place: string, host: string): string | undefined {
  if (host.length <= 253 && hostForm.test(host)) {
    if (isReachableHost(host)) return undefined
    return (
      `${place}: ${JSON.stringify(host)} is not public: no call reaches a private address, or a name ` +
      "of a machine's own network, whatever is granted"
    )
  }
  const why = host.startsWith('*.')
    ? 'a star before a name grants nothing; name each host'
    : 'without scheme, port and path; one with other letters begins with xn--'
  return `${place}: must be a host such as api.example.com (${why})`
}

const schemasIn = ({ contributes, agent, config_schema: config }: Manifest): Placed<JsonObject> => [
  ...contributes.tools.flatMap(({ input_schema: input, output_schema: output }, index) => [
    [`contributes.tools[${index}].input_schema`, input as JsonObject] as const,
    ...(output
      ? [[`contributes.tools[${index}].output_schema`, output as JsonObject] as const]
      : []),
  ]),
  ...(agent?.output_schema
    ? [['agent.output_schema', agent.output_schema as JsonObject] as const]
    : []),
  ...(config ? [['config_schema', config as JsonObject] as const] : []),
]

const atPlace = (place: string, problem: string | undefined): string | undefined =>
  problem === undefined ? undefined : `${place}: ${problem}`

function permitProblem(manifest: Manifest): string | undefined {
  const lines = permitLines(toPermit(manifest))
  if (lines.length > maxPermitLines)
    return `grants: it asks for ${lines.length} things; nobody reads more than ${maxPermitLines}`
  const long = lines.find(({ text }) => text.length > maxLineChars)
  return (
    long &&
    `grants: asks for something that is longer than ${maxLineChars} characters: ${headOf(long.text, 80)}…`
  )
}
