export type Freshness = 'day' | 'week' | 'month' | 'year' | undefined

export interface Search {
  readonly query: string
  readonly count: number
  readonly freshness: Freshness
}

export interface SearchRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** One search service: how it is asked, and where its answer has the results. */
export interface Provider {
  /** Name of the secret it needs; none for one of the operator's own. */
  readonly secret?: string
  readonly toRequest: (
    search: Search,
    about: {
      readonly ref: (name: string) => string
      readonly config: Readonly<Record<string, unknown>>
    },
  ) => SearchRequest
  readonly toItems: (answer: unknown) => readonly Item[]
}

/** One page in the answer of a service, which is a stranger's: each field may hold anything. */
export interface Item {
  readonly title: unknown
  readonly url: unknown
  readonly snippet: unknown
  readonly date?: unknown
}

const maxTitleChars = 300
const maxSnippetChars = 1_000
const maxUrlChars = 2_000

/** Pages that have an address which can be read on; texts without markup, cut. */
export function toResults(items: readonly Item[]) {
  return items.flatMap(({ title, url, snippet, date }) => {
    if (typeof url !== 'string' || url.length > maxUrlChars || !/^https?:\/\//.test(url)) return []
    return [
      {
        title: plain(title, maxTitleChars),
        url,
        snippet: plain(snippet, maxSnippetChars),
        ...(typeof date === 'string' && date !== '' && { date: date.slice(0, 40) }),
      },
    ]
  })
}

/** A list of a JSON answer at a path of keys; empty if there is none. */
export function listAt(answer: unknown, ...path: readonly string[]): readonly Fields[] {
  const found = path.reduce<unknown>((value, key) => Object(value)[key] as unknown, answer)
  return Array.isArray(found) ? found.map((one) => Object(one) as Fields) : []
}

type Fields = Readonly<Record<string, unknown>>

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
  '&#39;': "'",
}

/** Brave marks what matched with <strong> and writes entities. */
function plain(text: unknown, maxChars: number): string {
  if (typeof text !== 'string') return ''
  return text
    .replaceAll(/<\/?(?:strong|b|em|mark)>/gi, '')
    .replaceAll(/&(?:amp|lt|gt|quot|#x27|#39);/gi, (entity) => entities[entity.toLowerCase()] ?? '')
    .slice(0, maxChars)
}
