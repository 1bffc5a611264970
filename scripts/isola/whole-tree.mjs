/** A session with all its runs and what hangs below them: a long one comes in pages, the last runs first. */
export async function wholeTree(request, session) {
  const path = `/api/sessions/${encodeURIComponent(session)}`
  const { earlier: first, ...tree } = await request(path)
  let { runs, children } = tree
  for (let before = first; before !== undefined;) {
    const page = await request(`${path}?before=${before}`)
    runs = [...page.runs, ...runs]
    children = [...page.children, ...children]
    before = page.earlier
  }
  return { ...tree, runs, children }
}
