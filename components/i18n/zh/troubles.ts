/** 浏览器自身发现的故障的文字；服务器的说明按原样显示。 */
import type { TroubleWords } from "../../api/trouble.ts";

export const troubles: TroubleWords = {
  network: {
    text: "无法连接服务器。",
    next: "请确认服务器正在运行且本机在线，然后重试。",
  },
  interrupted: {
    text: "内容尚未全部到达，连接就断了。",
    next: "请重试；种子相同，声音就相同。",
  },
  aborted: {
    text: "操作已停止。",
    next: "如果仍然需要，请重新开始。",
  },
  malformed_answer: {
    text: "服务器发来了此页面无法理解的内容。",
    next: "请重新加载页面。若仍无效，说明这里的服务器不同或版本不同。",
  },
  unavailable: {
    text: "服务器暂时无法接受请求。",
    next: "请稍候再试。",
  },
  refused: {
    text: "服务器拒绝了请求。",
    next: "请修改文本或设置，然后重试。",
  },
  not_found: {
    text: "服务器上没有这个地址。",
    next: "请重新加载页面：服务器可能已换了版本。",
  },
  closed: {
    text: "会话已关闭。",
    next: "请重新开始。",
  },
  not_open: {
    text: "会话没有打开。",
    next: "请重新开始。",
  },
  audio_lost: {
    text: "部分声音随连接中断而丢失。",
    next: "要得到完整的声音，请再说一次这段文本。",
  },
  buffer_full: {
    text: "声音到达得太快，此页面来不及接收。",
    next: "请关闭占用浏览器的内容，然后重试。",
  },
  insecure_context: {
    text: "播放声音需要 https 地址，或在 localhost 上打开此页。",
    next: "请通过 https 打开此页。",
  },
  unsupported: {
    text: "此浏览器无法按本页需要的方式播放声音。",
    next: "请使用新版的 Chrome、Edge、Firefox 或 Safari。",
  },
  worklet_failed: {
    text: "播放器无法加载。",
    next: "请重新加载页面。",
  },
  device_failed: {
    text: "本机的声音输出出了故障。",
    next: "请检查输出设备，然后重试。",
  },
  unreadable: {
    text: "此浏览器无法解码这段声音。",
    next: "请换一个浏览器收听，或选择其他格式。",
  },
  sound_gone: {
    text: "这个版本的声音已不再保存。",
    next: "请用相同的种子再说一次：声音是相同的。",
  },
  unknown: {
    text: "此页面出了问题。",
    next: "请重试；若仍无效，请重新加载页面。",
  },
};
