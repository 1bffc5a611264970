import { escape, toHtml, htmlResponse } from '#platform/routes/html.ts'
import { errorCode } from '#contracts/errors.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import type { AddOpen } from '#platform/routes/mount.ts'
import { selectedModel, type Targets } from '#platform/routes/targets.ts'
import type { GuardDeps, HttpApp, HttpContext } from '#platform/routes/types.ts'

/** The facts about this deployment on the page at `/`. */
export interface Front {
  /** The address under which it was asked. */
  readonly origin: string
  readonly isDevelopment: boolean
  /** The model for requests that name none. */
  readonly model: string | undefined
  /** Why every request is refused just now. */
  readonly problem: string | undefined
}

/**
 * Names the program, says that it runs, and how to connect. Any stranger may read it: it holds no secret, and names
 * no model of a deployment.
 */
export function frontPage(front: Front): string {
  const { origin, isDevelopment, problem } = front
  const base = escape(`${origin}/v1`)
  const state =
    problem === undefined
      ? '<p class="note well">It runs.</p>'
      : `<p class="note bad" role="alert">It runs, and refuses every request: ${escape(problem)}</p>`
  const key = isDevelopment
    ? 'the one that <code>npm start</code> printed'
    : 'from whoever runs this deployment'
  return toHtml(
    'Isola',
    `<h1>Isola</h1>
<p>A multi-agent runtime: an orchestrator, tools and sub-agents behind an OpenAI-compatible endpoint.</p>
${state}
<dl>
<dt>Base URL</dt><dd><code>${base}</code></dd>
<dt>Key</dt><dd>${key}</dd>
<dt>Agent</dt><dd><code>orchestrator</code>, as the name of the model</dd>
<dt>Model behind it</dt><dd>${modelLine(front)}</dd>
</dl>
<h2>Ask it something</h2>
<pre><code>export ISOLA_KEY=isk_…
curl ${base}/chat/completions \\
  -H "authorization: Bearer $ISOLA_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"model":"orchestrator","messages":[{"role":"user","content":"What can you do?"}]}'</code></pre>
<h2>More ways in</h2>
<ul>
<li>Any OpenAI-compatible client: the base URL, the key and the agent above.</li>
<li>In a terminal, in a clone of the repository: <code>ISOLA_URL=${escape(origin)} npx isola chat</code></li>
<li>MCP clients: <code>${escape(`${origin}/mcp`)}</code></li>
<li>Programs: sessions, runs and events under <code>${escape(`${origin}/api`)}</code> (<code>docs/api.md</code> of the repository)</li>
<li>Whether it answers: <a href="/healthz">/healthz</a></li>
</ul>`,
    'wide',
  )
}

function modelLine({ isDevelopment, model }: Front): string {
  if (model === undefined) return 'none is configured'
  if (!isDevelopment) return 'one is configured'
  if (model === 'offline/offline')
    return (
      '<code>offline</code>: built in, fixed rules, no language model ' +
      '(<code>docs/models.md</code> has how to take another)'
    )
  return `<code>${escape(model)}</code>`
}

/** An island, its sun, and the sea. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c7a"/><circle cx="22" cy="10" r="4" fill="#ffd166"/><path d="M5 22a11 9 0 0 1 20 0z" fill="#f4f1de"/><path d="M3 25h26" stroke="#7fd1e8" stroke-width="3" stroke-linecap="round"/></svg>
`

export interface FrontDeps extends Pick<GuardDeps, 'readiness'> {
  /** On a developer's own machine a visitor may know which model answers. */
  readonly isDevelopment: boolean
  readonly models: Targets['models']
}

/** The pages that a browser may request before its user has a key. */
export function addFrontRoutes(app: HttpApp, add: AddOpen, deps: FrontDeps): void {
  const show = createFront(deps)
  // Not by `add`, which answers every method: a client that is no browser gets the same as without a page.
  app.get('/', (context, next) => (wantsPage(context) ? show(context) : next()))
  const headers = { 'cache-control': 'public, max-age=86400' }
  const svg = () => file(icon, { ...headers, 'content-type': 'image/svg+xml' })
  add('/favicon.svg', { GET: svg })
  add('/favicon.ico', { GET: svg })
  const robots = 'User-agent: *\nDisallow: /\n'
  add('/robots.txt', {
    GET: () => file(robots, { ...headers, 'content-type': 'text/plain; charset=utf-8' }),
  })
}

/** A browser names HTML; programs name JSON, or take anything. */
const wantsPage = ({ req }: HttpContext): boolean =>
  /\btext\/html\b/i.test(req.header('accept') ?? '')

const file = (body: string, headers: Readonly<Record<string, string>>): Response =>
  new Response(body, {
    headers: { 'content-security-policy': `default-src 'none'`, ...headers },
  })

function createFront(deps: FrontDeps): (context: HttpContext) => Promise<Response> {
  return async ({ req }) => {
    const html = frontPage({
      origin: new URL(req.url).origin,
      isDevelopment: deps.isDevelopment,
      model: modelOf(deps),
      problem: await problemOf(deps),
    })
    // The icon is the one thing that it loads.
    const policy = [`img-src 'self'`, `form-action 'none'`]
    return htmlResponse(html, { status: 200, policy, headers: { vary: 'accept' } })
  }
}

/** The fault for which every request would be refused, in the words of that refusal. */
async function problemOf({ readiness }: FrontDeps): Promise<string | undefined> {
  try {
    const state = await readiness()
    return state.state === 'not_migrated' ? state.message : undefined
  } catch (error) {
    return toOutgoingError(error, '').body.error.message
  }
}

function modelOf(deps: FrontDeps): string | undefined {
  try {
    return selectedModel(deps)
  } catch (error) {
    // A faulty model setting is shown to operators, and not on this page.
    if (errorCode(error) !== undefined) return undefined
    throw error
  }
}
