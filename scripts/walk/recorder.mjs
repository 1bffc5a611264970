// Part of the measured Worker (scripts/walk/tree.mjs puts it before the product's own modules): keeps which function
// was entered in which order, and the call stack of each entry.

let isOn = false
let entries = []
let stacks = new Map()

/** Positions in the bundle, nearest first: a V8 stack reaches over awaits and over the functions of packages. */
function positions() {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 60
  const { stack } = new Error('walk')
  Error.stackTraceLimit = stackTraceLimit
  return [...stack.matchAll(/index\.js:(\d+:\d+)\)?$/gm)].map(([, at]) => at).join(' ')
}

globalThis.__walk = (id) => {
  if (!isOn) return
  const stack = positions()
  if (!stacks.has(stack)) stacks.set(stack, stacks.size)
  entries.push([id, stacks.get(stack)])
}

const mark = (name) => isOn && entries.push([name])

const send = globalThis.fetch
globalThis.fetch = async (...request) => {
  const { origin } = new URL(request[0].url ?? request[0])
  mark(`sent ${origin}`)
  const response = await send(...request)
  mark(`answered ${origin}`)
  return response
}

/** Answers the two requests of scripts/walk.mjs: `?start`, and what was recorded since. */
function control({ searchParams }) {
  if (searchParams.has('stop')) isOn = false
  if (searchParams.has('start')) {
    isOn = true
    entries = []
    stacks = new Map()
  }
  const isWhole = searchParams.has('stop')
  return Response.json(
    isWhole ? { entries, stacks: [...stacks.keys()] } : { count: entries.length },
  )
}

/** The product's handlers, with marks at a request's arrival and at the end of its answer. */
export const walked = (worker) => ({
  ...worker,
  async fetch(request, ...rest) {
    const url = new URL(request.url)
    if (url.pathname === '/__walk') return control(url)
    mark('request')
    const response = await worker.fetch(request, ...rest)
    if (!response.body) return response
    const end = new TransformStream({ flush: () => void mark('answer') })
    return new Response(response.body.pipeThrough(end), response)
  },
})
