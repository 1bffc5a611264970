/** A reply that may say where to go on. */
interface Page {
  readonly next?: string | undefined
}

/** All items of a list that comes in pages. */
export async function allPages<Of extends Page, Item>(
  ask: (after: { readonly after?: string }) => Promise<Of>,
  itemsOf: (page: Of) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = []
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: Of = await ask(after === '' ? {} : { after })
    items.push(...itemsOf(page))
    after = page.next
  }
  return items
}
