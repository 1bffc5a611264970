// Descriptions of MCP servers for other programs, as Isola takes them: a pasted `mcpServers` block, or a registry's server.json.

const idForm = /^[a-z][a-z0-9-]{0,23}$/

/** An id of ours, made of a name in a file. */
export function toServerId(name: string): string {
  const last = name.split('/').at(-1) ?? ''
  const id = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 24)
    .replace(/(?<!-)-+$/, '')
  return idForm.test(id) ? id : 'server'
}

const toSecretName = (text: string) =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[^A-Z]+/, '')
    .slice(0, 64) || 'TOKEN'

/** `${VAR}`, `${env:VAR}`, `${input:key}`, `${VAR:-default}` and `{var}` all mean a value that is not written down. */
const toReference = (value: unknown) =>
  String(value).replace(
    /\$\{(?!secret:)(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)(?::?-[^{}]*)?\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g,
    (_all, inDollars?: string, inBraces?: string) =>
      `\${secret:${toSecretName(inDollars ?? inBraces ?? '')}}`,
  )

/** A server as the deployment takes it. */
interface ImportedServer {
  readonly id: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly auth?: 'oauth'
}
interface SkippedServer {
  readonly id: string
  readonly why: string
}
type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * @returns `servers`, as `POST /api/operator/mcp` takes them, and `skipped`, each with why.
 * @throws if it is neither of the forms, or has no server.
 */
export function toServers(json: unknown): Sorted {
  const block = isObject(json) ? (json['mcpServers'] ?? json['servers']) : undefined
  if (isObject(block)) {
    const all = Object.entries(block).map(([name, entry]) => fromEntry(name, entry))
    if (all.length === 0) throw new Error('There is no server in it.')
    return sorted(all)
  }
  if (isObject(json) && typeof json['name'] === 'string' && (json['remotes'] || json['packages']))
    return sorted([fromRegistry(json['name'], json)])
  throw new Error('This is neither an mcpServers block nor a server.json of a registry.')
}

interface Sorted {
  readonly servers: readonly ImportedServer[]
  readonly skipped: readonly SkippedServer[]
}
const sorted = (all: readonly (ImportedServer | SkippedServer)[]): Sorted => ({
  servers: all.filter((one) => 'url' in one),
  skipped: all.filter((one) => 'why' in one),
})

const skipped = (id: string, why: string): SkippedServer => ({ id, why })
const notHere = 'runs as a process (stdio), which a Worker has none of: not runnable here'

function fromEntry(name: string, entry: unknown): ImportedServer | SkippedServer {
  const id = toServerId(name)
  if (!isObject(entry)) return skipped(id, 'is not an object')
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['httpUrl']
  if (typeof url !== 'string') return skipped(id, entry['command'] ? notHere : 'has no url')
  const type = String(entry['type'] ?? entry['transport'] ?? 'http').toLowerCase()
  if (type === 'sse') return skipped(id, 'speaks the older SSE transport only: not supported')
  const headers = Object.entries(isObject(entry['headers']) ? entry['headers'] : {})
  const wantsLogin = ['oauth', 'oauth_resource', 'auth'].some((key) => entry[key] !== undefined)
  return {
    id,
    url,
    headers: Object.fromEntries(headers.map(([key, value]) => [key, toReference(value)])),
    ...(wantsLogin && headers.length === 0 && { auth: 'oauth' }),
  }
}

/** The objects of a list; other values are left out. */
const objectsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isObject) : []

function fromRegistry(name: string, json: Fields): ImportedServer | SkippedServer {
  const id = toServerId(name)
  const remotes = objectsIn(json['remotes'])
  const remote = remotes.find((one) => one['type'] === 'streamable-http')
  if (!remote) {
    if (remotes.length > 0) return skipped(id, 'speaks the older SSE transport only: not supported')
    return skipped(id, objectsIn(json['packages']).length > 0 ? notHere : 'has no address')
  }
  const url = String(remote['url'])
  if (/\{[^{}]+\}/.test(url))
    return skipped(id, `its address has a part that you choose (${url}): add it with --url`)
  const headers = objectsIn(remote['headers']).map(({ name: header, value }) => [
    String(header),
    value === undefined
      ? `\${secret:${toSecretName(`${id}_${String(header)}`)}}`
      : toReference(value),
  ])
  return { id, url, headers: Object.fromEntries(headers) }
}
