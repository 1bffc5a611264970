import { ToolError } from '#contracts/plugin.ts'

/** The end of one call. An AbortController is made only for a listener: it costs more than most calls do. */
export interface CallEnd {
  readonly isOver: () => boolean
  readonly throwIfAborted: () => void
  readonly signal: () => AbortSignal
  readonly end: () => void
}

/** The end of a running call. */
export function createCallEnd(): CallEnd {
  const state: { isOver: boolean; controller?: AbortController } = { isOver: false }
  const isOver = (): boolean => state.isOver
  const reason = () => new ToolError('tool_failed', { message: 'This call is over.' })
  return {
    isOver,
    throwIfAborted() {
      if (isOver()) throw reason()
    },
    signal() {
      if (!state.controller) {
        state.controller = new AbortController()
        if (isOver()) state.controller.abort(reason())
      }
      return state.controller.signal
    },
    end() {
      state.isOver = true
      state.controller?.abort(reason())
    },
  }
}
