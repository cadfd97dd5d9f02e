/** The charts of a run as one picture: what is on the page, with titles and legends, on the page's background. */

const WIDTH = 1600;
const MARGIN = 24;
const COLUMNS = 2;
const TITLE_HEIGHT = 44;
const LEGEND_HEIGHT = 40;
const SWATCH = 18;

/**
 * @param place holds the charts, one a `figure`
 * @throws Error if the browser can make none
 */
export async function pictureOf(place: HTMLElement, title: string): Promise<Blob> {
  const charts = [...place.querySelectorAll("figure")].flatMap((figure) => {
    const canvas = figure.querySelector("canvas");
    return canvas === null || canvas.width === 0 ? [] : [{ figure, canvas }];
  });
  const style = getComputedStyle(place);
  const color = (name: string) => style.getPropertyValue(name);
  const width = (WIDTH - MARGIN * (COLUMNS + 1)) / COLUMNS;
  const heights = charts.map(({ canvas }) => (canvas.height / canvas.width) * width);
  const height = LEGEND_HEIGHT + Math.max(0, ...heights) + MARGIN;
  const picture = document.createElement("canvas");
  picture.width = WIDTH;
  picture.height = TITLE_HEIGHT + MARGIN + Math.ceil(charts.length / COLUMNS) * height;
  const context = picture.getContext("2d");
  if (context === null) throw new Error("This browser draws no pictures.");
  context.fillStyle = color("--surface");
  context.fillRect(0, 0, picture.width, picture.height);
  const write = (text: string, font: string, name: string, x: number, y: number, most: number) => {
    context.font = `${font} ${style.fontFamily}`;
    context.fillStyle = color(name);
    context.fillText(text, x, y, most);
  };
  write(title, "600 22px", "--ink", MARGIN, TITLE_HEIGHT - 8, WIDTH - 2 * MARGIN);
  for (const [index, { figure, canvas }] of charts.entries()) {
    const x = MARGIN + (index % COLUMNS) * (width + MARGIN);
    const y = TITLE_HEIGHT + MARGIN + Math.floor(index / COLUMNS) * height;
    const name = figure.querySelector("figcaption > span")?.textContent ?? "";
    write(name, "600 16px", "--ink", x, y, width);
    const legend = { x, y: y + 20, color: color("--muted"), family: style.fontFamily };
    drawLegend(context, figure, legend);
    context.drawImage(canvas, x, y + LEGEND_HEIGHT - 8, width, heights[index] ?? 0);
  }
  return new Promise((resolve, reject) => {
    picture.toBlob((blob) => {
      if (blob === null) reject(new Error("This browser could not write the picture."));
      else resolve(blob);
    }, "image/png");
  });
}

/** The legend in one line, each line of the chart with a stroke as it is drawn. */
function drawLegend(
  context: CanvasRenderingContext2D,
  figure: HTMLElement,
  { x, y, color, family }: { x: number; y: number; color: string; family: string },
): void {
  context.font = `13px ${family}`;
  let at = x;
  for (const line of figure.querySelectorAll("figcaption li")) {
    const swatch = line.querySelector("path");
    if (swatch !== null) {
      const { stroke, strokeDasharray } = getComputedStyle(swatch);
      const dash = strokeDasharray === "none" ? [] : strokeDasharray.split(/[ ,]+/);
      context.strokeStyle = stroke;
      context.lineWidth = 2.5;
      context.setLineDash(dash.map((length) => Number.parseFloat(length)));
      context.beginPath();
      context.moveTo(at, y - 4);
      context.lineTo(at + SWATCH, y - 4);
      context.stroke();
    }
    const text = [...line.childNodes].map(({ textContent }) => textContent).join(" ");
    context.fillStyle = color;
    context.fillText(text, at + SWATCH + 6, y);
    at += SWATCH + 6 + context.measureText(text).width + 18;
  }
  context.setLineDash([]);
}
