/** The pages of a list, one after the other: each may say where to go on. */
export async function* pagesOf<Of extends { readonly next?: string | undefined }>(
  ask: (after?: string) => Promise<Of>,
): AsyncGenerator<Of> {
  let after: string | undefined
  do {
    const page: Of = await ask(after)
    yield page
    after = page.next
  } while (after !== undefined)
}
