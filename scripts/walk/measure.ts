// Measures a recording: the files in which a function ran, and the calls that left their room.
import { SourceMap, type SourceMapPayload } from 'node:module'
import { relative, resolve, sep } from 'node:path'
import { layerOf, roomOf } from './rooms.ts'

/** A line of the product; the path is from src/. */
export interface Place {
  readonly file: string
  readonly line: number
}

/**
 * The message of scripts/walk/recorder.mjs: entries `[function, stack]` and marks `[name]`; stacks are positions in
 * the bundle.
 */
export interface Recording {
  /** Functions that said on the console that they were entered (scripts/walk/server.mjs). */
  readonly inIsolates: readonly number[]
  readonly entries: readonly (readonly [number, number] | readonly [string])[]
  readonly stacks: readonly string[]
}

/** An entry of a function with its callers, nearest first. */
export interface Entry extends Pick<Place, 'file'> {
  readonly id: number
  readonly callers: readonly Place[]
}
export type Step = Entry | { readonly mark: string }

export interface RoomCount {
  readonly layer: string
  readonly room: string
  readonly files: number
  /** Into this room. */
  readonly borders: number
  readonly lines: number
}
export interface Walk {
  readonly files: number
  readonly borders: number
  readonly lines: number
  /** In the order in which the files were first entered: how often the next one lies in another room. */
  readonly changes: number
  /** Pairs of rooms, with a direction. */
  readonly pairs: number
  /** Calls over a border, repeated ones too. */
  readonly crossings: number
  readonly functions: number
  readonly rooms: readonly RoomCount[]
  readonly paths: readonly string[]
}

type PlaceOf = (position: string) => Place | undefined

/**
 * Reads a position in the bundle as a place in the product.
 *
 * @param bundle `map` and `folder` of `bundleOf` (scripts/walk/tree.mjs).
 * @param source The folder src/ of the copy.
 * @returns `placeOf('line:column')`: undefined for a package's code.
 */
export function createPlaces(
  bundle: { readonly map: SourceMapPayload; readonly folder: string },
  source: string,
): PlaceOf {
  const map = new SourceMap(bundle.map)
  return (position) => {
    const [line = 0, column = 0] = position.split(':').map(Number)
    const origin = map.findOrigin(line, column)
    if (!('fileName' in origin)) return undefined
    const path = resolve(bundle.folder, origin.fileName)
    const file = relative(source, path).split(sep).join('/')
    if (/^\.\.|\.gen[./]|^walk-recorder/.test(file)) return undefined
    // The copy's own entry has this name.
    return { file: file === 'walked.ts' ? 'index.ts' : file, line: origin.lineNumber }
  }
}

/** The steps of a recording; `fileOf` is of `makeTree` (scripts/walk/tree.mjs). */
export function toSteps(
  { entries, stacks }: Omit<Recording, 'inIsolates'>,
  { fileOf, placeOf }: { readonly fileOf: (id: number) => string; readonly placeOf: PlaceOf },
): readonly Step[] {
  const chains = stacks.map((text) =>
    text.split(' ').flatMap((position) => (position ? (placeOf(position) ?? []) : [])),
  )
  return entries.map(([first, stack]) =>
    typeof first === 'string'
      ? { mark: first }
      : // The nearest frame is the function itself.
        { id: first, file: fileOf(first), callers: (chains[stack ?? 0] ?? []).slice(1) },
  )
}

/** The entries in isolates, whose callers are on the other side of a call between Workers. */
export const inIsolates = (
  { inIsolates: ids }: Pick<Recording, 'inIsolates'>,
  fileOf: (id: number) => string,
): readonly Entry[] => ids.map((id) => ({ id, file: fileOf(id), callers: [] }))

const isEntry = (step: Step): step is Entry => 'file' in step

/** The steps between a request's arrival and the end of its answer. */
export function answering(steps: readonly Step[]): readonly Step[] {
  const isMark = (name: string) => (step: Step) => !isEntry(step) && step.mark === name
  const from = steps.findIndex(isMark('request'))
  const to = steps.findLastIndex(isMark('answer'))
  if (from < 0 || to < from) throw new Error('The recording has no request that was answered.')
  return steps.slice(from, to)
}

const isOf = (room: string) => (file: string) => roomOf(file).split('/').at(-1) === room

/**
 * The steps of one tool call: from the kernel's call into the plugins' room until the kernel goes on, once the tool's
 * own request to `origin` was answered.
 */
export function callingTool(steps: readonly Step[], origin: string): readonly Step[] {
  const [isKernel, isPlugins] = [isOf('kernel'), isOf('plugins')]
  const from = steps.findIndex(
    (step) =>
      isEntry(step) &&
      isPlugins(step.file) &&
      step.callers[0] !== undefined &&
      isKernel(step.callers[0].file),
  )
  const answered = steps.findIndex(
    (step, index) => index > from && !isEntry(step) && step.mark === `answered ${origin}`,
  )
  const to = steps.findIndex(
    (step, index) =>
      index > answered &&
      isEntry(step) &&
      isKernel(step.file) &&
      !step.callers.some(({ file }) => isPlugins(file)),
  )
  if (from < 0 || answered < 0 || to < 0) throw new Error('The recording has no call of the tool.')
  return steps.slice(from, to)
}

/**
 * Counts steps. A border is a place in the source that calls a function of another room: the same line and function
 * count once, however often they run.
 *
 * @param lines The lines of each file, by its path from src/.
 */
export function count(steps: readonly Step[], lines: ReadonlyMap<string, number>): Walk {
  const entered = steps.filter(isEntry)
  const sizeOf = (files: Iterable<string>) =>
    [...files].reduce((sum, file) => sum + (lines.get(file) ?? 0), 0)
  const crossed = entered.flatMap(({ id, file, callers: [caller] }) => {
    const [from, to] = [caller && roomOf(caller.file), roomOf(file)]
    return !caller || from === to
      ? []
      : [{ to, pair: `${from} ${to}`, border: `${caller.file}:${caller.line} ${id}` }]
  })
  const inOrder = [...new Set(entered.map(({ file }) => file))]
  const paths = inOrder.toSorted()
  return {
    files: paths.length,
    borders: new Set(crossed.map(({ border }) => border)).size,
    lines: sizeOf(paths),
    changes: inOrder.filter((file, index) => {
      const before = inOrder[index - 1]
      return before !== undefined && roomOf(before) !== roomOf(file)
    }).length,
    pairs: new Set(crossed.map(({ pair }) => pair)).size,
    crossings: crossed.length,
    functions: new Set(entered.map(({ id }) => id)).size,
    rooms: [...Map.groupBy(paths, roomOf)]
      .map(([room, files]) => ({
        layer: layerOf(room),
        room,
        files: files.length,
        borders: new Set(crossed.flatMap(({ to, border }) => (to === room ? [border] : []))).size,
        lines: sizeOf(files),
      }))
      .toSorted((one, other) => (one.room < other.room ? -1 : 1)),
    paths,
  }
}
