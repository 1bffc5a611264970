import { notAnObject, toCallInput } from '#contracts/foreign-json.ts'
import { headOf } from '#contracts/cut.ts'
import type { JsonObject } from '#contracts/json.ts'
import {
  createOpaqueDraft,
  opaqueOfCall,
  type OpaqueBudget,
  type OpaqueDraft,
  type DraftedCall,
} from './opaque-fields.ts'
import {
  maxArgumentsChars,
  maxCalls,
  maxNameChars,
  tooLarge,
  isObject,
  parsed,
} from './reply-limits.ts'
import { typeName, unreadable } from './said-content.ts'

/** Puts tool calls together from their pieces. */
export interface CallDrafts {
  /** Takes the list of calls of one piece of a reply, as its service sent it. */
  readonly add: (calls: unknown) => void
  /** Takes a piece of the one call of the protocol's first version. */
  readonly addFunctionCall: (call: unknown) => void
  readonly count: () => number
  /** Drops the drafts: the server sends the calls again, whole. */
  readonly clear: () => void
  /** @param isCut The reply was cut: its last call may have been. */
  readonly finish: (isCut: boolean) => readonly DraftedCall[]
}

interface Draft {
  readonly key: number | string | undefined
  id: string
  name: string
  readonly json: string[]
  chars: number
  readonly scan: Scan
  readonly opaque: OpaqueDraft
  /** Its empty object gave way to another one: if that is empty too, they are two calls. */
  mayBeTwo: boolean
}

/** @param options.weigh Told how many characters each piece has. */
export function createCallDrafts(options: {
  readonly weigh: (chars: number) => void
  readonly budget: OpaqueBudget
}): CallDrafts {
  const { weigh, budget } = options
  let drafts: Draft[] = []

  function open(from: Pick<Draft, 'key' | 'name'> & { readonly id?: string }): Draft {
    if (drafts.length >= maxCalls) throw tooLarge(`${maxCalls} tool calls`)
    const draft: Draft = {
      id: '',
      json: [],
      chars: 0,
      scan: createScan(),
      opaque: createOpaqueDraft(budget),
      mayBeTwo: false,
      ...from,
    }
    drafts.push(draft)
    return draft
  }

  /** The draft that a piece belongs to, or a new one. */
  function draftFor({ key, id, name, json }: Piece): Draft {
    const isOfKey = (draft: Draft) => key === undefined || draft.key === key
    const own = drafts.filter(isOfKey)
    // Some servers number all parallel calls 0 and tell them apart by id only.
    const last = own.findLast((draft) => id !== '' && draft.id === id) ?? own.at(-1)
    if (!last) return open({ key, name, id })
    // A server that gives ids gives one to each call: without one the name goes on.
    const goesOn = last.id !== '' && id === '' && last.chars === 0
    const isOtherName = name !== '' && last.name !== '' && name !== last.name && !goesOn
    const isOther = isOtherName || (id !== '' && last.id !== '' && id !== last.id)
    // Other servers give parallel calls no id, or the same: a whole object ends a call, and a new object begins
    // another.
    const isNext = last.scan.isWhole() && opensNext.test(json) && !isFilledIn(last, name)
    if (isOther || isNext) return open({ key, name: name === '' ? last.name : name, id })
    return last
  }

  function addJson(draft: Draft, text: string): void {
    let into = draft
    for (let rest = text; rest !== '';) {
      if (into.scan.isWhole()) {
        rest = rest.replace(/^[\s,]+/, '')
        if (isFilledIn(into, '') && rest.startsWith('{')) {
          reset(into)
          // A service that gives ids gives one to each call: behind an id, an empty object of another piece is the
          // same.
          into.mayBeTwo = into.id === '' || rest.length < text.length
        } else if (rest.startsWith('{')) into = open({ key: into.key, name: into.name })
      }
      const taken = into.scan.isWhole() ? rest.length : into.scan.take(rest)
      into.json.push(rest.slice(0, taken))
      into.chars += taken
      if (into.chars > maxArgumentsChars) throw tooLarge('1 MiB of arguments for one call')
      rest = rest.slice(taken)
      if (into.mayBeTwo && into.scan.isWhole()) into = asTwo(into)
    }
  }

  /** An empty object in front of another empty one was a call of its own. */
  function asTwo(draft: Draft): Draft {
    draft.mayBeTwo = false
    if (!isFilledIn(draft, '')) return draft
    const second = open({ key: draft.key, name: draft.name })
    second.json.push(emptyJson)
    second.chars = second.scan.take(emptyJson)
    return second
  }

  function addPiece(piece: Piece): void {
    weigh(piece.json.length)
    if (drafts.some((draft) => isAgain(draft, piece))) return
    const draft = draftFor(piece)
    if (piece.id !== '') draft.id = piece.id
    // A name comes once, or again with every piece, or in pieces before the arguments.
    if (draft.name === '') draft.name = piece.name
    else if (piece.name !== draft.name && draft.chars === 0)
      draft.name = headOf(draft.name + piece.name, maxNameChars)
    draft.opaque.add(piece.opaque)
    addJson(draft, piece.json)
  }

  return {
    add(calls) {
      if (calls === undefined || calls === null) return
      if (typeof calls !== 'object') throw unreadable(`"tool_calls" as ${typeName(calls)}`)
      const list: readonly unknown[] = Array.isArray(calls) ? calls : [calls]
      list.forEach((call, place) => {
        // Calls without a number in one piece are told apart by their place.
        if (call !== null) addPiece(pieceOf(call, list.length > 1 ? `at ${place}` : undefined))
      })
    },
    addFunctionCall(call) {
      if (call === undefined || call === null) return
      addPiece(pieceOf(call, 'function_call'))
    },
    count: () => drafts.length,
    clear: () => void (drafts = []),
    finish: (isCut) => finished(drafts, isCut),
  }
}

/** A piece of a call, read. */
interface Piece {
  readonly key: number | string | undefined
  readonly id: string
  readonly name: string
  readonly json: string
  readonly opaque: JsonObject | undefined
}

function pieceOf(call: unknown, place: string | undefined): Piece {
  // A value that is no call becomes a call of an unknown tool, so that the model learns of it.
  if (!isObject(call)) return { key: 'none', id: '', name: '', json: '', opaque: undefined }
  const { index, id, function: wrapped, custom } = call as Record<string, unknown>
  const inner = isObject(wrapped) ? wrapped : isObject(custom) ? custom : call
  const part = inner as Record<string, unknown>
  const number = typeof index === 'string' && index !== '' ? Number(index) : index
  return {
    key: Number.isSafeInteger(number) ? Number(number) : place,
    // An id that no service would make up is none: the call gets one of ours.
    id: typeof id === 'string' && id.length <= maxNameChars ? id.toWellFormed() : '',
    name: typeof part.name === 'string' ? headOf(part.name, maxNameChars).toWellFormed() : '',
    json: jsonOf(
      [part.arguments, part.args, part.parameters, part.input].find((one) => one !== undefined),
    ),
    opaque: opaqueOfCall(call, inner),
  }
}

/** The text before another object. */
const opensNext = /^[\s,]*\{/

/** Several services give the object itself. */
function jsonOf(given: unknown): string {
  if (given === undefined || given === null) return ''
  return typeof given === 'string' ? given : JSON.stringify(given)
}

/** Services that translate begin a call with an empty object, and send its arguments after it. */
const isFilledIn = (draft: Draft, name: string): boolean =>
  name === '' && draft.chars <= maxEmptyChars && draft.json.join('').trim() === emptyJson
const maxEmptyChars = 16
const emptyJson = '{}'

/** Some services end a stream with each call once more, whole: the same id, name and arguments are the same call. */
function isAgain(draft: Draft, { id, name, json }: Piece): boolean {
  const isOfCall = id !== '' && draft.id === id && (name === '' || draft.name === name)
  if (!isOfCall || !draft.scan.isWhole() || !opensNext.test(json)) return false
  const [before, again] = [parsed(draft.json.join('')), parsed(json)]
  return again !== undefined && JSON.stringify(before) === JSON.stringify(again)
}

function reset(draft: Draft): void {
  draft.json.length = 0
  draft.chars = 0
  draft.scan.reset()
}

/** Looks at JSON text as it comes, to know where an object ends. */
interface Scan {
  /** How many characters of it belong to the object that is open. */
  readonly take: (text: string) => number
  /** An object was opened and closed. */
  readonly isWhole: () => boolean
  readonly reset: () => void
}

function createScan(): Scan {
  let depth = 0
  let isText = false
  let isEscaped = false
  let isObjectOpen = false
  let isWhole = false

  function step(char: string): void {
    if (isEscaped) isEscaped = false
    else if (isText) {
      if (char === '\\') isEscaped = true
      else if (char === '"') isText = false
    } else if (char === '"') isText = true
    else if (char === '{' || char === '[') {
      if (depth === 0) isObjectOpen = char === '{'
      depth += 1
    } else if ((char === '}' || char === ']') && depth > 0) {
      depth -= 1
      if (depth === 0 && isObjectOpen) isWhole = true
    }
  }

  return {
    take(text) {
      for (let at = 0; at < text.length; at += 1) {
        step(text[at]!)
        if (isWhole) return at + 1
      }
      return text.length
    },
    isWhole: () => isWhole,
    reset() {
      depth = 0
      isText = isEscaped = isObjectOpen = isWhole = false
    },
  }
}

function finished(drafts: readonly Draft[], isCut: boolean): readonly DraftedCall[] {
  const seen = new Set<string>()
  return drafts.map(({ id, name, json, scan, opaque }, index) => {
    const unique = id === '' || seen.has(id) ? `call_${index + 1}` : id
    seen.add(unique)
    const text = json.join('')
    const isHalf = isCut && index === drafts.length - 1 && !scan.isWhole()
    // A call without a name becomes a call of an unknown tool: the model learns of it and goes on.
    const called = name === '' ? 'unnamed' : name
    const input = isHalf ? notAnObject(text) : toCallInput(text)
    return { id: unique, name: called, input, opaque: opaque.finish() }
  })
}
