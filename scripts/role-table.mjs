// The table of docs/api.md that says which routes a role may use, from `x-roles` of the OpenAPI document.
const roles = ['operator', 'author', 'user', 'auditor']
const begin = '<!-- roles: npm run openapi -->'
const end = '<!-- /roles -->'

/** The text of docs/api.md with the table in its place. */
export function withRoleTable(text, document) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/api.md: has no ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${roleTable(document)}\n\n${text.slice(to)}`
}

/** One row an area of routes, or a route where a role may use some of an area only. */
function roleTable({ paths }) {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { 'x-roles': may } = {}]) =>
      may ? [{ path, method: method.toUpperCase(), may }] : [],
    ),
  )
  const rows = [...Map.groupBy(routes, areaOf)].flatMap(([area, own]) => {
    const cells = roles.map((role) => cellOf(own, role))
    if (!cells.includes(undefined)) return [[nameOf(area, own), ...cells]]
    return [...Map.groupBy(own, ({ path }) => path)].map(([path, some]) => [
      `\`${path}\``,
      ...roles.map((role) => cellOf(some, role) ?? methodsFor(some, role)),
    ])
  })
  return [
    `| routes | ${roles.map((role) => `\`${role}\``).join(' | ')} |`,
    `|---|${roles.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')
}

/** `/v1`, `/api/sessions`, `/api/operator/keys`. */
function areaOf({ path }) {
  const [, first, second, third] = path.split('/')
  if (first !== 'api') return `/${first}`
  return second === 'operator' ? `/api/operator/${third}` : `/api/${second}`
}

const nameOf = (area, routes) => `\`${area}${routes.some(({ path }) => path !== area) ? '…' : ''}\``

/** Nothing where a role may use some of these only. */
function cellOf(routes, role) {
  const may = routes.filter((route) => route.may.includes(role))
  if (may.length === routes.length) return 'yes'
  if (may.length === 0) return ''
  const reads = routes.filter(({ method }) => method === 'GET')
  return may.length === reads.length && may.every(({ method }) => method === 'GET')
    ? 'reads'
    : undefined
}

const methodsFor = (routes, role) =>
  routes
    .filter(({ may }) => may.includes(role))
    .map(({ method }) => method)
    .join(', ')
