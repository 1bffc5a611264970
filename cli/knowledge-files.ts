// Documents of this machine or of an address, as `isola knowledge add` sends them.
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, normalize, sep } from 'node:path'
import { readPdf } from './read-pdf.ts'
import { UsageError } from './options.ts'

/** The content of a document: `text`, or `pages`. */
interface ReadFile {
  readonly type: 'text' | 'markdown' | 'html' | 'pages'
  readonly text?: string
  readonly pages?: string[]
}

/** A document by its name, read when it is its turn. */
export interface Found {
  readonly name: string
  readonly isAddress: boolean
  readonly read: () => Promise<ReadFile>
}

const maxFileBytes = 32 * 1024 * 1024
const maxDepth = 16
const leftOut = new Set(['node_modules'])
const typeOf: Readonly<Record<string, 'text' | 'markdown' | 'html' | 'pdf'>> = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.mdx': 'markdown',
  '.txt': 'text',
  '.rst': 'text',
  '.html': 'html',
  '.htm': 'html',
  '.pdf': 'pdf',
}

/** The documents of the arguments: a file, all readable files in and under a folder, or an address. */
export function findDocuments(
  given: readonly string[],
  fetchDocument: (url: string) => Promise<Response>,
): readonly Found[] {
  return given.flatMap((one): readonly Found[] => {
    if (/^https?:\/\//.test(one))
      return [{ name: one, isAddress: true, read: () => readAddress(one, fetchDocument) }]
    const at = statSync(one, { throwIfNoEntry: false })
    if (!at) throw new UsageError(`${one}: there is no such file or folder.`)
    const files = at.isDirectory() ? filesIn(one, 0) : [one]
    if (files.length === 0)
      throw new UsageError(`${one}: no document in it (${Object.keys(typeOf).join(' ')}).`)
    return files.map((path) => ({
      name: nameOf(path),
      isAddress: false,
      read: async () => readPath(path),
    }))
  })
}

/** The same wherever the command is run from inside of it. */
export const nameOf = (path: string): string => normalize(path).split(sep).join('/')

/** Links are not followed; hidden folders are left out. */
function filesIn(folder: string, depth: number): readonly string[] {
  if (depth === maxDepth) return []
  const entries = readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !leftOut.has(name))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path, depth + 1)
    return entry.isFile() && typeOf[extname(entry.name).toLowerCase()] ? [path] : []
  })
}

async function readPath(path: string): Promise<ReadFile> {
  if (lstatSync(path).size > maxFileBytes) throw tooLarge()
  return toRead(readFileSync(path), typeOf[extname(path).toLowerCase()] ?? 'text')
}

async function readAddress(
  url: string,
  fetchDocument: (url: string) => Promise<Response>,
): Promise<ReadFile> {
  const response = await fetchDocument(url)
  if (!response.ok) throw new Error(`It answered ${response.status}.`)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length
    if (sizeBytes > maxFileBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const said = response.headers.get('content-type') ?? ''
  const type = /pdf/.test(said)
    ? 'pdf'
    : /html/.test(said)
      ? 'html'
      : (typeOf[extname(new URL(url).pathname).toLowerCase()] ?? 'text')
  return toRead(Buffer.concat(chunks), type)
}

async function toRead(bytes: Uint8Array, type: (typeof typeOf)[string]): Promise<ReadFile> {
  const isPdf = Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-'
  if (type === 'pdf' || isPdf) return { type: 'pages', pages: [...(await readPdf(bytes))] }
  try {
    return { type, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes) }
  } catch {
    throw new Error('It is not text in UTF-8.')
  }
}

const tooLarge = () => new Error(`It is larger than ${maxFileBytes / 1024 / 1024} MiB.`)
