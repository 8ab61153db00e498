//! Draws pictures: ECharts in an embedded JavaScript engine makes SVG, and resvg makes PNG of that,
//! with an embedded font, so that pictures are the same everywhere.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

use crate::assets::{SCRIPT, echarts, font};
use crate::{Figure, FigureError, option};

/// Browser globals that the engine lacks. Timers never fire: animations are off.
const BROWSER_GLOBALS: &str = "globalThis.self = globalThis; \
     globalThis.setTimeout = globalThis.setInterval = () => 0; \
     globalThis.clearTimeout = globalThis.clearInterval = () => {};";

/// Width and height of a picture, pixels.
const PIXELS: RangeInclusive<u32> = 100..=8192;

thread_local! {
    /// Loading the library takes 0.1 s, drawing a figure a fraction of that.
    static ENGINE: Result<(Runtime, Context), String> = engine();
}

fn engine() -> Result<(Runtime, Context), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let context = Context::full(&runtime).map_err(|error| error.to_string())?;
    context.with(|js| {
        for script in [BROWSER_GLOBALS, echarts(), SCRIPT] {
            js.eval::<(), _>(script).catch(&js).map_err(|error| error.to_string())?;
        }
        Ok::<(), String>(())
    })?;
    Ok((runtime, context))
}

/// Draws the figure as an SVG document of a size in pixels. It is laid out for a picture smaller by
/// `scale` and enlarged as a whole, with text and lines.
///
/// # Errors
/// The size is out of range, or the library failed.
pub fn svg(
    figure: &Figure,
    (width, height): (u32, u32),
    scale: f64,
    dark: bool,
) -> Result<String, FigureError> {
    if !PIXELS.contains(&width) || !PIXELS.contains(&height) {
        return Err(FigureError::Size { least: *PIXELS.start(), most: *PIXELS.end() });
    }
    let option = option(figure, dark).to_string();
    let drawn = ENGINE.with(|engine| {
        let (_, context) = engine.as_ref().map_err(Clone::clone)?;
        context.with(|js| {
            let draw = || {
                let iodyno: Object<'_> = js.globals().get("iodyno")?;
                let option = js.json_parse(option)?;
                iodyno.get::<_, Function<'_>>("svg")?.call((option, width, height, scale))
            };
            draw().catch(&js).map_err(|error| error.to_string())
        })
    });
    drawn.map_err(FigureError::Drawing)
}

/// Draws the figure as a PNG picture of a size in pixels.
///
/// # Errors
/// As [`svg`], or there is not enough memory for the picture.
pub fn png(
    figure: &Figure,
    (width, height): (u32, u32),
    scale: f64,
    dark: bool,
) -> Result<Vec<u8>, FigureError> {
    static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(font());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    let failed = |error: &dyn std::fmt::Display| FigureError::Drawing(error.to_string());
    let document = svg(figure, (width, height), scale, dark)?;
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree = Tree::from_str(&document, &options).map_err(|error| failed(&error))?;
    let mut picture =
        Pixmap::new(width, height).ok_or_else(|| failed(&"no memory for the picture"))?;
    resvg::render(&tree, Transform::identity(), &mut picture.as_mut());
    picture.encode_png().map_err(|error| failed(&error))
}
