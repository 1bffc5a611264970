/** A session with all its runs and what hangs below them: a long one comes in pages, the last runs first. */
export async function wholeTree(request, session) {
  const path = `/api/sessions/${encodeURIComponent(session)}`
  const ask = (query) => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    return request(given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`)
  }
  const first = await ask({})
  let runs = []
  let children = []
  for (let [page, before] = [first]; ;) {
    const below = [...page.children]
    for (let more = page.moreChildren; more !== undefined;) {
      const next = await ask({ before, fromChild: more })
      below.push(...next.children)
      more = next.moreChildren
    }
    runs = [...page.runs, ...runs]
    children = [...below, ...children]
    before = page.earlier
    if (before === undefined) break
    page = await ask({ before })
  }
  const { earlier: _earlier, moreChildren: _more, ...tree } = first
  const whole = []
  for (const child of children) whole.push(await completed(request, child))
  return { ...tree, runs, children: whole }
}

/** A child that is long is cut short where it hangs. */
async function completed(request, child) {
  if (child.earlier !== undefined || child.moreChildren !== undefined)
    return wholeTree(request, child.id)
  const children = []
  for (const one of child.children) children.push(await completed(request, one))
  return { ...child, children }
}
