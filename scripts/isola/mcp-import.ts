// What others write about an MCP server, as Isola takes it: a pasted `mcpServers` block, or a registry's server.json.

const idForm = /^[a-z][a-z0-9-]{0,23}$/

/** An id of ours out of somebody's name. */
export function toServerId(name) {
  const last = String(name).split('/').at(-1)
  const id = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 24)
    .replace(/-+$/, '')
  return idForm.test(id) ? id : 'server'
}

const toSecretName = (text) =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[^A-Z]+/, '')
    .slice(0, 64) || 'TOKEN'

/** `${VAR}`, `${env:VAR}`, `${input:key}`, `${VAR:-default}` and `{var}` all mean a value that is not written down. */
const toReference = (value) =>
  String(value).replace(
    /\$\{(?!secret:)(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)(?::?-[^}]*)?\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g,
    (_all, inDollars, inBraces) => `\${secret:${toSecretName(inDollars ?? inBraces)}}`,
  )

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * @returns `servers`, as `POST /api/operator/mcp` takes them, and `skipped`, each with why.
 * @throws if it is neither of the forms, or has no server.
 */
export function toServers(json) {
  const block = isObject(json) ? (json.mcpServers ?? json.servers) : undefined
  if (isObject(block)) {
    const all = Object.entries(block).map(([name, entry]) => fromEntry(name, entry))
    if (all.length === 0) throw new Error('There is no server in it.')
    return sorted(all)
  }
  if (isObject(json) && typeof json.name === 'string' && (json.remotes || json.packages))
    return sorted([fromRegistry(json)])
  throw new Error('This is neither an mcpServers block nor a server.json of a registry.')
}

const sorted = (all) => ({
  servers: all.filter(({ url }) => url !== undefined),
  skipped: all.filter(({ url }) => url === undefined),
})

const skipped = (id, why) => ({ id, why })
const notHere = 'runs as a process (stdio), which a Worker has none of: not runnable here'

function fromEntry(name, entry) {
  const id = toServerId(name)
  if (!isObject(entry)) return skipped(id, 'is not an object')
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl
  if (typeof url !== 'string') return skipped(id, entry.command ? notHere : 'has no url')
  const type = String(entry.type ?? entry.transport ?? 'http').toLowerCase()
  if (type === 'sse') return skipped(id, 'speaks the older SSE transport only: not supported')
  const headers = Object.entries(isObject(entry.headers) ? entry.headers : {})
  const wantsLogin = ['oauth', 'oauth_resource', 'auth'].some((key) => entry[key] !== undefined)
  return {
    id,
    url,
    headers: Object.fromEntries(headers.map(([key, value]) => [key, toReference(value)])),
    ...(wantsLogin && headers.length === 0 && { auth: 'oauth' }),
  }
}

function fromRegistry({ name, remotes = [], packages = [] }) {
  const id = toServerId(name)
  const remote = remotes.find(({ type }) => type === 'streamable-http')
  if (!remote) {
    if (remotes.length > 0) return skipped(id, 'speaks the older SSE transport only: not supported')
    return skipped(id, packages.length > 0 ? notHere : 'has no address')
  }
  if (/\{[^}]+\}/.test(remote.url))
    return skipped(id, `its address has a part that you choose (${remote.url}): add it with --url`)
  const headers = (remote.headers ?? []).map((header) => [
    header.name,
    header.value === undefined
      ? `\${secret:${toSecretName(`${id}_${header.name}`)}}`
      : toReference(header.value),
  ])
  return { id, url: remote.url, headers: Object.fromEntries(headers) }
}
