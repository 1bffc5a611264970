import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type {
  DocumentInfo,
  FoundPassage,
  KnowledgeAnswer,
  KnowledgeRequest,
  KnowledgeStore,
} from '#features/record/types/knowledge.ts'
import { isIn, oneChangeAtATime, statsOf, type NoteStoreDeps } from '../long-term/note-book.ts'
import type { NoteStorage } from '../long-term/note-rows.ts'
import { createDocumentBook, type PassageBody } from './document-book.ts'
import { putDocument } from './put-document.ts'

type Asked<Verb extends KnowledgeRequest['verb']> = Extract<KnowledgeRequest, { verb: Verb }>

/** The documents of one object, sealed and found as its notes are. */
export function createKnowledgeStore(
  storage: NoteStorage,
  owner: string,
  deps: NoteStoreDeps,
): KnowledgeStore {
  const documents = createDocumentBook(storage, owner, deps)
  const { book, rows, open, passagesOf } = documents

  async function search({ places, query, limit }: Asked<'search'>): Promise<KnowledgeAnswer> {
    const found = await book.search(query, places, limit)
    const ids = [...new Set(found.map((one) => one.document))]
    const kept = ids.flatMap((id) => rows.get(id) ?? [])
    const known = new Map((await Promise.all(kept.map(open))).map((one) => [one.id, one]))
    return {
      passages: found.flatMap((one): FoundPassage | [] => {
        const document = known.get(one.document)
        return document ? toFound(one, document, one.score) : []
      }),
    }
  }

  async function list({ places, limit, after = '' }: Asked<'list'>): Promise<KnowledgeAnswer> {
    const all = rows.all().filter(({ id, place }) => id > after && isIn(places)(place))
    const page = all.slice(0, limit)
    const next = all.length > page.length ? { next: page.at(-1)!.id } : {}
    return { documents: await Promise.all(page.map(open)), ...next }
  }

  /** With its passages, in their order. */
  async function get({ id }: Asked<'get'>): Promise<KnowledgeAnswer> {
    const row = rows.get(id)
    if (!row)
      throw new IsolaError('request_not_found', 'There is no such document.', { param: 'id' })
    const document = await open(row)
    const passages = (await book.readAll(passagesOf([id]))).toSorted(
      (one, other) => one.part - other.part,
    )
    return { documents: [document], passages: passages.map((one) => toFound(one, document, 0)) }
  }

  function forget({ ids, places }: Asked<'forget'>): KnowledgeAnswer {
    const wanted = ids && new Set(ids)
    const isGone = isIn(places)
    const gone = rows.all().filter(({ id, place }) => isGone(place) && (wanted?.has(id) ?? true))
    book.remove(passagesOf(gone.map(({ id }) => id)).map((note) => note.id))
    gone.forEach(({ id }) => rows.remove(id))
    if (rows.all().length === 0) documents.drop()
    return { forgotten: gone.length }
  }

  async function forgetWriter({ principal }: Asked<'forgetWriter'>): Promise<KnowledgeAnswer> {
    const all = rows.all()
    const writers = await Promise.all(all.map(documents.writerOf))
    const ids = all.flatMap(({ id }, at) => (writers[at] === principal ? id : []))
    return ids.length === 0 ? { forgotten: 0 } : forget({ verb: 'forget', ids })
  }

  async function answer(request: KnowledgeRequest): Promise<KnowledgeAnswer> {
    switch (request.verb) {
      case 'put':
        return putDocument(request, documents, deps)
      case 'search':
        return search(request)
      case 'list':
        return list(request)
      case 'get':
        return get(request)
      case 'forget':
        return forget(request)
      case 'forgetWriter':
        return forgetWriter(request)
      case 'stats':
        return { stats: statsOf(book) }
      case 'reseal':
        return { key: await book.key.reseal() }
    }
  }

  return oneChangeAtATime(answer, ['put', 'forget', 'forgetWriter', 'reseal'])
}

function toFound(
  { text, headings, page, line, part }: PassageBody,
  { id, scope, agent, name, title, label }: DocumentInfo,
  score: number,
): FoundPassage {
  const named = defined({ agent, title })
  return {
    text,
    ...defined({ headings, page, line }),
    document: { id, scope, name, ...named },
    part,
    label,
    score,
  }
}
