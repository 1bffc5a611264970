import { escape, toHtml } from '#platform/routes/html.ts'

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
    return '<code>offline</code>: built in, fixed rules, no language model (<code>docs/models.md</code> has how to take another)'
  return `<code>${escape(model)}</code>`
}

/** An island, its sun, and the sea. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c7a"/><circle cx="22" cy="10" r="4" fill="#ffd166"/><path d="M5 22a11 9 0 0 1 20 0z" fill="#f4f1de"/><path d="M3 25h26" stroke="#7fd1e8" stroke-width="3" stroke-linecap="round"/></svg>
`
